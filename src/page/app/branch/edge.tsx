// The edge of a pane, dragged or moved by keys to make the pane wider or narrower; a double click takes that
// back. The width is kept in this browser.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Key, t } from "../../shared/text.ts";

interface EdgeProps {
  pane: "files" | "history";
  /** What the pane is called. */
  name: Key;
}

const STEP_PX = 16;
const NARROWEST_PX = 160;
/** Of the window: the open file keeps a fifth of it between two panes. */
const WIDEST = 0.4;

const widest = (): number => Math.max(NARROWEST_PX, Math.round(innerWidth * WIDEST));
const bounded = (width: number): number => Math.min(widest(), Math.max(NARROWEST_PX, Math.round(width)));

/** The width that was kept, in pixels; null: that of the style sheet. */
function kept(place: string): number | null {
  const width = Number(localStorage.getItem(place));
  return width > 0 ? width : null;
}

export function Edge({ pane, name }: EdgeProps) {
  const place = `width of ${pane}`;
  const edge = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(() => kept(place));
  // Where a drag began, and how wide the pane was then.
  const [began, begin] = useState<{ x: number; width: number } | null>(null);
  const [now, setNow] = useState(0);
  const measured = () => edge.current!.parentElement!.getBoundingClientRect().width;
  useLayoutEffect(() => {
    const panes = edge.current!.closest<HTMLElement>(".branch")!;
    if (width === null) panes.style.removeProperty(`--${pane}`);
    else panes.style.setProperty(`--${pane}`, `${width}px`);
    setNow(Math.round(measured()));
  }, [width]);
  const keep = (wanted: number | null) => {
    setWidth(wanted);
    if (wanted === null) localStorage.removeItem(place);
    else localStorage.setItem(place, String(wanted));
  };
  // To the right makes the left pane wider, and the right one narrower.
  const sign = pane === "files" ? 1 : -1;
  const onKeyDown = (event: KeyboardEvent) => {
    const wanted: Record<string, () => number> = {
      ArrowLeft: () => measured() - sign * STEP_PX,
      ArrowRight: () => measured() + sign * STEP_PX,
      Home: () => NARROWEST_PX,
      End: widest,
    };
    const width = wanted[event.key]?.();
    if (width === undefined) return;
    event.preventDefault();
    keep(bounded(width));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule between parts of a text is none that moves.
    <div
      ref={edge}
      class="edge"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t("widthOf", { pane: t(name) })}
      aria-valuenow={now}
      aria-valuemin={NARROWEST_PX}
      aria-valuemax={widest()}
      title={t("dragToSize")}
      onKeyDown={onKeyDown}
      onDblClick={() => keep(null)}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        begin({ x: event.clientX, width: measured() });
      }}
      onPointerMove={(event) => {
        if (began) setWidth(bounded(began.width + sign * (event.clientX - began.x)));
      }}
      onPointerUp={() => {
        if (began && width !== null) keep(width);
        begin(null);
      }}
      onPointerCancel={() => begin(null)}
    />
  );
}
