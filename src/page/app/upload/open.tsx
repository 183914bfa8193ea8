// The upload that is open. Its sheet is drawn over whatever screen is, so an upload goes on, and tells how it ends,
// when somebody leaves the branch that it is for.
import { t } from "../../shared/text.ts";
import { lazyDialog } from "../frame/lazy.tsx";
import type { Route } from "../route.ts";
import type { SheetProps, UploadTarget } from "./sheet.tsx";
import type { Picked } from "./walk.ts";

const UploadSheet = lazyDialog<SheetProps>(
  () => import("./sheet.tsx").then((part) => part.UploadSheet),
  () => t("upload"),
);

export interface Upload {
  target: UploadTarget;
  picked: Picked[];
}

interface OpenProps {
  upload: Upload;
  route: Route;
  onClose: () => void;
}

export function OpenUpload({ upload: { target, picked }, route, onClose }: OpenProps) {
  const { screen, repo, branch, at, change } = route;
  const isHere = screen === "files" && repo === target.repo && branch === target.branch && !at && !change;
  return <UploadSheet {...target} picked={picked} isHere={isHere} onClose={onClose} />;
}
