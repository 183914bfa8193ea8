import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface MenuProps {
  label: ComponentChildren;
  /** What the button is called where its label is a sign alone. */
  title?: string;
  kind?: "quiet" | "crumb" | "button";
  align?: "left" | "right";
  /** Its items lie over what would cut them off, and go when that scrolls. */
  floating?: boolean;
  /** Of the button, where the keys come to it by a way of their own. */
  tabIndex?: number;
  children: ComponentChildren;
}

const focusable = ".items a, .items button:not(:disabled), .items input";
/** Between a button and its items. */
const GAP_PX = 5;
const isItem = (event: Event) => (event.target as Element).closest("a, button") !== null;

/** Lays the items of a menu below its button, or above where there is no room. */
function place(menu: HTMLElement, items: HTMLElement): void {
  const button = menu.getBoundingClientRect();
  const { width, height } = items.getBoundingClientRect();
  const below = button.bottom + GAP_PX;
  const top = below + height <= innerHeight ? below : Math.max(0, button.top - GAP_PX - height);
  items.style.top = `${top}px`;
  items.style.left = `${Math.max(GAP_PX, Math.min(button.right - width, innerWidth - width - GAP_PX))}px`;
}

/** How near a menu may come to the side of the window. */
const SIDE_PX = 8;

/** Moves a menu aside that would leave the window. */
function keepWithin(list: HTMLElement) {
  list.style.translate = "";
  const { left, right } = list.getBoundingClientRect();
  const over = Math.min(0, document.documentElement.clientWidth - SIDE_PX - right);
  list.style.translate = `${Math.max(over, SIDE_PX - left)}px`;
}

/** A button with a menu under it: arrows move in it, Escape closes it, a click on an item too. */
export function Menu(props: MenuProps) {
  const { label, title, kind = "quiet", align = "left", floating = false, tabIndex, children } = props;
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
    const menu = ref.current!;
    const list = menu.querySelector<HTMLElement>(".items")!;
    const lay = () => (floating ? place(menu, list) : keepWithin(list));
    lay();
    items()[0]?.focus();
    const outside = (event: Event) => {
      if (!ref.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", outside);
    addEventListener("resize", lay);
    if (floating) addEventListener("scroll", outside, { capture: true });
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("resize", lay);
      removeEventListener("scroll", outside, { capture: true });
    };
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
        tabIndex={tabIndex}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it hears the clicks of its items
        // biome-ignore lint/a11y/useKeyWithClickEvents: a key on an item is a click
        <div
          class={`items ${floating ? "floating" : align}`}
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
