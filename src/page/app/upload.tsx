// Files and folders that are dropped on the page, or chosen in a dialog, open an upload.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { complain } from "../shared/notice.tsx";
import { t } from "../shared/text.ts";
import type { Upload } from "./upload/open.tsx";
import type { UploadTarget } from "./upload/sheet.tsx";
import { chosen, type Picked, walkDrop } from "./upload/walk.ts";

/** The upload that is open, if one is, and what opens one. */
export interface Uploads {
  open: Upload | null;
  begin: (upload: Upload) => void;
}

export interface Drop {
  /** Takes files that were chosen in a dialog. */
  choose: (files: FileList | null) => void;
  /** What is drawn over the screen: the place to drop. */
  over: ComponentChildren;
}

const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

/**
 * Takes what is dropped anywhere on the page while it is drawn; `target` is null where nothing can be saved, and
 * `refusal` says why.
 */
export function useDrop(target: UploadTarget | null, uploads: Uploads, refusal: string): Drop {
  const [dragging, setDragging] = useState(false);
  const able = target !== null;
  const isOpen = useRef(false);
  isOpen.current = uploads.open !== null;
  const pick = useRef((_: Picked[]): void => undefined);
  pick.current = (picked) => {
    if (picked.length === 0) complain(t("dropEmpty"));
    else if (target) uploads.begin({ target, picked });
  };
  const why = useRef(refusal);
  why.current = refusal;
  useLayoutEffect(() => {
    // Each element tells that something was dragged in and out of it: the last one out counts.
    let depth = 0;
    const stop = () => {
      depth = 0;
      setDragging(false);
    };
    const listeners = {
      dragenter: (event: DragEvent) => {
        if (!holdsFiles(event)) return;
        depth += 1;
        setDragging(!isOpen.current);
      },
      dragleave: (event: DragEvent) => {
        if (!holdsFiles(event)) return;
        depth -= 1;
        if (depth <= 0) stop();
      },
      // Without this a browser would leave the page for the file.
      dragover: (event: DragEvent) => {
        if (holdsFiles(event)) event.preventDefault();
      },
      drop: (event: DragEvent) => {
        if (!holdsFiles(event) || !event.dataTransfer) return;
        event.preventDefault();
        stop();
        if (isOpen.current) return;
        if (!able) return complain(why.current);
        walkDrop(event.dataTransfer.items).then(
          (files) => pick.current(files),
          (error) => complain(t("uploadUnread", { message: String(error?.message ?? error) })),
        );
      },
    };
    for (const [name, listener] of Object.entries(listeners)) {
      addEventListener(name, listener as EventListener);
    }
    return () => {
      for (const [name, listener] of Object.entries(listeners)) {
        removeEventListener(name, listener as EventListener);
      }
    };
  }, [able]);
  return {
    choose: (files) => {
      if (files) pick.current(chosen(files));
    },
    over: dragging && (
      <div class={target ? "dropping" : "dropping refused"} aria-hidden="true">
        <b>{target ? t("dropHere", { path: target.folder || target.branch }) : refusal}</b>
        {target && <span>{t("dropHint")}</span>}
      </div>
    ),
  };
}
