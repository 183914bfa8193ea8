import {
  type ComponentChild,
  type ComponentChildren,
  isValidElement,
  toChildArray,
  type VNode,
} from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Filter } from "./filter.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { t } from "./text.ts";

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

interface ItemProps {
  icon: IconName;
  words: string;
  /** It takes something away. */
  danger?: boolean;
  onClick: () => void;
}

/** A line of a menu that does something. */
export function Item({ icon, words, danger = false, onClick }: ItemProps) {
  return (
    <button type="button" class={danger ? "danger" : undefined} onClick={onClick}>
      <Icon of={icon} />
      {words}
    </button>
  );
}

const focusable = ".items a, .items button:not(:disabled), .items input";
/** Between a button and its items. */
const GAP_PX = 5;
const isItem = (event: Event) => (event.target as Element).closest("a, button") !== null;

/** A menu of so many places can be filtered. */
const MANY = 12;
/** Most places that are in the document at once. */
const SHOWN_MAX = 200;

const isPlace = (item: ComponentChild): item is VNode<{ children?: ComponentChildren }> =>
  isValidElement(item) && item.type === "a";
const nameOf = (place: VNode<{ children?: ComponentChildren }>): string =>
  toChildArray(place.props.children)
    .filter((part) => typeof part === "string")
    .join("")
    .toLowerCase();

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

/**
 * A button with a menu under it: arrows, Home and End move in it; Escape closes it, a click on an item, and whatever
 * takes the focus elsewhere.
 */
export function Menu(props: MenuProps) {
  const { label, title, kind = "quiet", align = "left", floating = false, tabIndex, children } = props;
  const [open, setOpen] = useState(false);
  const [filter, setFilter] = useState("");
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
    const left = ({ target }: FocusEvent) => {
      const to = target as Element;
      const sheet = to.closest("dialog");
      // What is over the menu gives the focus back to it.
      if (menu.contains(to) || (sheet && !sheet.contains(menu))) return;
      setOpen(false);
    };
    setFilter("");
    addEventListener("pointerdown", outside);
    addEventListener("focusin", left);
    addEventListener("resize", lay);
    if (floating) addEventListener("scroll", outside, { capture: true });
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", left);
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
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const isField = document.activeElement?.matches("input[type=search]") ?? false;
    if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all.at((at < 0 ? all.length : at) - 1)?.focus();
    else if (event.key === "Home" && open && !isField) all[0]?.focus();
    else if (event.key === "End" && open && !isField) all.at(-1)?.focus();
    else if (event.key === "Enter" && isField && filter) all.find((item) => item.matches("a"))?.click();
    else return;
    event.preventDefault();
  };
  const list = toChildArray(children);
  const places = list.filter(isPlace);
  const many = places.length >= MANY;
  const wanted = filter.trim().toLowerCase();
  const found = wanted ? places.filter((place) => nameOf(place).includes(wanted)) : places;
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
          // A click beside its items leaves the focus in it.
          tabIndex={-1}
          onClickCapture={(event) => {
            // Before the item hears of it: a dialog that it opens gives the focus back to what has it now.
            if (isItem(event)) ref.current?.querySelector("button")?.focus();
          }}
          onClick={(event) => {
            if (isItem(event)) setOpen(false);
          }}
        >
          {many && <Filter value={filter} onFilter={setFilter} />}
          {many ? found.slice(0, SHOWN_MAX) : list}
          {found.length > SHOWN_MAX && <p class="hint">{t("andMore", { n: found.length - SHOWN_MAX })}</p>}
          {wanted && found.length === 0 && <p class="hint">{t("nothingMatches", { q: filter })}</p>}
          {many && list.filter((item) => !isPlace(item))}
        </div>
      )}
    </span>
  );
}
