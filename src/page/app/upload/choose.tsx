// What is dropped can be chosen, too: the ways to add files that need no mouse.
import { Icon } from "../../shared/icons.tsx";
import { t } from "../../shared/text.ts";

/** Held while the dialog of the browser is open: a menu that it was opened from is gone by then. */
let chooser: HTMLInputElement | null = null;

function choose(isFolder: boolean, take: (files: FileList | null) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.webkitdirectory = isFolder;
  input.addEventListener("change", () => take(input.files));
  chooser = input;
  chooser.click();
}

interface ChooseProps {
  kind?: "button";
  onChoose: (files: FileList | null) => void;
}

/** Two buttons, for files and for a folder of this computer. */
export function Choose({ kind, onChoose }: ChooseProps) {
  return (
    <>
      <button type="button" class={kind} onClick={() => choose(false, onChoose)}>
        <Icon of="upload" />
        {t("chooseFiles")}
      </button>
      <button type="button" class={kind} onClick={() => choose(true, onChoose)}>
        <Icon of="folder" />
        {t("chooseFolder")}
      </button>
    </>
  );
}
