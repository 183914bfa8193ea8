// Signs of 16 × 16, drawn with strokes in the colour of the text.

const paths = {
  back: "M5.5 3 2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6",
  box: "m2.5 5 5.5-3 5.5 3v6L8 14l-5.5-3zM2.5 5 8 8l5.5-3M8 8v6",
  branch:
    "M5 5v6M5 9c0-2.5 6-1 6-4.5M5 2a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM5 11a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM11 2a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z",
  check: "m3 8.5 3.2 3.2L13 5",
  chevron: "m6 4 4 4-4 4",
  clock: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.7V8l2.2 1.5",
  close: "m4 4 8 8M12 4l-8 8",
  compare: "M6 2v12M10 2v12M3.5 6l-2 2 2 2M12.5 6l2 2-2 2",
  copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "m4 6 4 4 4-4",
  download: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  edit: "M10.5 3.5 12.5 5.5M3 13l.7-2.7 7.8-7.8 2 2-7.8 7.8z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  folder: "M2 4.5a1 1 0 0 1 1-1h3.2l1.4 1.6H13a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1z",
  globe: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM2 8h12M8 2c4 3.5 4 8.5 0 12M8 2c-4 3.5-4 8.5 0 12",
  help: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6.3 6.3a1.75 1.75 0 1 1 2.5 1.6c-.6.3-.8.6-.8 1.2M8 11.3v.01",
  key: "M9.5 6.5a3 3 0 1 1-2.9 3.7L2 5.6V3h2.5v2h2v1.7M10 9.5h.01",
  leave: "M9.5 3H3v10h6.5M7 8h7M11.5 5.5 14 8l-2.5 2.5",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  plus: "M8 3v10M3 8h10",
  pulse: "M1.5 8.5h3l2-5 3 9 2-4h3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.5 14 14",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  swap: "M3 5.5h10l-2.5-2.5M13 10.5H3L5.5 13",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9",
  upload: "M8 11V3M4.5 6 8 2.5 11.5 6M2.5 13.5h11",
  user: "M8 2.5a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4zM2.8 13.5c.5-2.7 2.6-4 5.2-4s4.7 1.3 5.2 4",
  users:
    "M6 3a2.3 2.3 0 1 1 0 4.6A2.3 2.3 0 0 1 6 3zM1.8 13c.4-2.3 2-3.5 4.2-3.5s3.8 1.2 4.2 3.5M10.5 3.3a2.3 2.3 0 0 1 0 4M12 9.8c1.2.5 2 1.6 2.3 3.2",
  warn: "m8 2 6.5 11.5h-13zM8 6.5V10M8 12v.01",
} as const;

export type IconName = keyof typeof paths;

/** A sign. With a title it says something by itself; without, the text beside it does. */
export function Icon({ of, title }: { of: IconName; title?: string }) {
  const said = title ? ({ role: "img", "aria-label": title } as const) : ({ "aria-hidden": "true" } as const);
  return (
    <svg class={of === "dots" ? "icon dots" : "icon"} viewBox="0 0 16 16" {...said}>
      <path d={paths[of]} />
    </svg>
  );
}

/** The service's own mark. */
export function Mark() {
  return (
    <svg class="mark-logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M9 10.5h9.5a4.5 4.5 0 0 1 0 9H13a2 2 0 0 0 0 4h10" />
      <circle cx="23" cy="10.5" r="2.2" />
    </svg>
  );
}
