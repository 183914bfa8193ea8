import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { t } from "../../shared/text.ts";

/** Rows that are drawn at first, and more at each push of the button. */
const PAGE = 50;

/** The rows of a list that are drawn, and the button for more of them where it has more. */
export function useMore<T>(list: T[]): [T[], JSX.Element | false] {
  const [shown, show] = useState(PAGE);
  const left = list.length - shown;
  const button = left > 0 && (
    <button type="button" class="button more" onClick={() => show(shown + PAGE)}>
      {t("showMore", { n: Math.min(left, PAGE) })}
    </button>
  );
  return [list.slice(0, shown), button];
}
