// Files and folders that are dropped on the page, or chosen in a dialog, become one save.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../shared/dialog.tsx";
import { complain } from "../shared/notice.tsx";
import { t } from "../shared/text.ts";
import { lazy } from "./frame/lazy.tsx";
import type { SheetProps, UploadTarget } from "./upload/sheet.tsx";
import { chosen, type Picked, walkDrop } from "./upload/walk.ts";

const asSheet = (inside: ComponentChildren, { onClose }: SheetProps) => (
  <Dialog title={t("upload")} onClose={onClose}>
    {inside}
  </Dialog>
);
const UploadSheet = lazy(() => import("./upload/sheet.tsx").then((part) => part.UploadSheet), asSheet);

export interface Upload {
  /** Takes files that were chosen in a dialog. */
  choose: (files: FileList | null) => void;
  /** What is drawn over the screen: the place to drop, and the sheet. */
  over: ComponentChildren;
}

const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

/** Takes what is dropped anywhere on the page while it is drawn; `target` is null where nothing can be saved. */
export function useUpload(target: UploadTarget | null): Upload {
  const [picked, pick] = useState<Picked[] | null>(null);
  const [dragging, setDragging] = useState(false);
  const able = target !== null;
  const open = useRef(false);
  open.current = picked !== null;
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
        setDragging(able && !open.current);
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
        if (!able || open.current) return;
        walkDrop(event.dataTransfer.items).then(
          (files) => files.length > 0 && pick(files),
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
      if (files && files.length > 0 && able) pick(chosen(files));
    },
    over: (
      <>
        {dragging && target && (
          <div class="dropping" aria-hidden="true">
            <b>{t("dropHere", { path: target.folder || target.branch })}</b>
            <span>{t("dropHint")}</span>
          </div>
        )}
        {picked && target && <UploadSheet {...target} picked={picked} onClose={() => pick(null)} />}
      </>
    ),
  };
}
