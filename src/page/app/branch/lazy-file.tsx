// The open file, which comes with its editor when one is opened.
import type { ComponentChildren } from "preact";
import { loadChunk } from "../../editor/chunk.ts";
import { Path } from "../../shared/parts.tsx";
import type { FileProps } from "../file.tsx";
import { lazy } from "../frame/lazy.tsx";

const asFile = (inside: ComponentChildren, { path }: FileProps) => (
  <section class="file" data-phase="loading">
    <header class="filehead">
      <h1 class="grow">
        <Path path={path} />
      </h1>
    </header>
    {inside}
  </section>
);
export const fetchFile = () => {
  // It will ask for the editor: that comes at the same time.
  void loadChunk();
  return import("../file.tsx").then((part) => part.File);
};
export const File = lazy(fetchFile, asFile);
