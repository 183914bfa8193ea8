// The shadow roots that editors live in: there an editor adopts constructed style sheets, which the page's
// policy allows; in the document itself it would insert style elements, which the policy refuses.
import { hostSheet } from "./theme.ts";

/** The shadow root of an element, with the sheet that its views need. */
export function rootOf(host: HTMLElement): ShadowRoot {
  if (host.shadowRoot) return host.shadowRoot;
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [hostSheet()];
  return root;
}
