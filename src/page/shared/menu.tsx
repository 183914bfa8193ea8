import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface MenuProps {
  label: ComponentChildren;
  /** What the button is called where its label is a sign alone. */
  title?: string;
  kind?: "quiet" | "crumb";
  align?: "left" | "right";
  children: ComponentChildren;
}

const focusable = ".items a, .items button:not(:disabled), .items input";
const isItem = (event: Event) => (event.target as Element).closest("a, button") !== null;

/** A button with a menu under it: arrows move in it, Escape closes it, a click on an item too. */
export function Menu({ label, title, kind = "quiet", align = "left", children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLSpanElement>(null);
  // Some are there in a narrow window only, and what is not shown takes no focus.
  const items = () =>
    [...(ref.current?.querySelectorAll<HTMLElement>(focusable) ?? [])].filter((item) =>
      item.checkVisibility(),
    );
  // Before the next key: whoever presses an arrow at once is in the menu.
  useLayoutEffect(() => {
    if (!open) return;
    items()[0]?.focus();
    const outside = (event: Event) => {
      if (!ref.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && open) {
      setOpen(false);
      ref.current?.querySelector("button")?.focus();
      event.stopPropagation();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
    all[(at + all.length) % all.length]?.focus();
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the button and its items
    <span class="menu" ref={ref} onKeyDown={keys}>
      <button
        type="button"
        class={kind}
        aria-expanded={open}
        aria-haspopup="true"
        aria-label={title}
        title={title}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it hears the clicks of its items
        // biome-ignore lint/a11y/useKeyWithClickEvents: a key on an item is a click
        <div
          class={`items ${align}`}
          onClickCapture={(event) => {
            // Before the item hears of it: a dialog that it opens gives the focus back to what has it now.
            if (isItem(event)) ref.current?.querySelector("button")?.focus();
          }}
          onClick={(event) => {
            if (isItem(event)) setOpen(false);
          }}
        >
          {children}
        </div>
      )}
    </span>
  );
}
