import { Icon } from "./icons.tsx";
import { t } from "./text.ts";

interface FilterProps {
  /** What it says while it is empty, and is called. */
  label?: string;
  value: string;
  autofocus?: boolean;
  onFilter: (text: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/** A field that leaves of a list what has this text in it. */
export function Filter({ label = t("filter"), value, autofocus, onFilter, onKeyDown }: FilterProps) {
  return (
    <label class="field">
      <Icon of="search" />
      <input
        type="search"
        autofocus={autofocus}
        placeholder={label}
        aria-label={label}
        value={value}
        onInput={(event) => onFilter(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </label>
  );
}
