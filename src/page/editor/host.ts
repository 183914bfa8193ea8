// Texts and comparisons of texts on the screen, in a shadow root. This module is a chunk of its own: import
// it with `await import("../editor/host.ts")`.

export interface Shown {
  destroy(): void;
}

export interface PairOptions {
  before: string;
  after: string;
  /** As `language` of `bytes.ts` gives it. */
  language: string;
  /** What each side is called, for who cannot see them. */
  labels: [string, string];
  /** One below the other, not side by side. */
  unified: boolean;
}

/** Shows two texts with their differences marked, the older left. */
export function showPair(place: HTMLElement, options: PairOptions): Shown {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  const text = document.createElement("pre");
  text.textContent = `${options.before}\n---\n${options.after}`;
  root.append(text);
  return { destroy: () => text.remove() };
}
