// What was dropped on the page or chosen in a dialog, as a list of files with paths.

/** A file and the path that it gets, without a slash in front. */
export interface Picked {
  path: string;
  file: File;
}

/** What a computer keeps beside the files of a person, and the inside of a git checkout. */
const LEFT_OUT = /(^|\/)(\.git\/|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i;

/** Whether a path is left out of an upload. */
export function isLeftOut(path: string): boolean {
  return LEFT_OUT.test(path);
}

/** All files of what was dropped, folders with everything in them. To be called within the event itself. */
export function walkDrop(items: DataTransferItemList): Promise<Picked[]> {
  // The list is emptied when the event ends: what it holds is taken before anything is waited for.
  const entries = [...items].flatMap((item) => {
    const entry = item.kind === "file" ? item.webkitGetAsEntry() : null;
    return entry ? [entry] : [];
  });
  return walkEntries(entries);
}

/** All files of these entries and below them, in the order of their paths. */
export async function walkEntries(entries: FileSystemEntry[], prefix = ""): Promise<Picked[]> {
  const found: Picked[] = [];
  for (const entry of entries) {
    const path = prefix + entry.name;
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      );
      found.push({ path, file });
    } else if (!isLeftOut(`${path}/`)) {
      found.push(...(await walkEntries(await list(entry as FileSystemDirectoryEntry), `${path}/`)));
    } else {
      // One line for the whole folder.
      found.push({ path: `${path}/`, file: new File([], entry.name) });
    }
  }
  return found;
}

/** A reader tells a folder in parts; an empty one is the end. */
async function list(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return all;
    all.push(...part);
  }
}

/** The files that were chosen in a dialog; of a folder, with their paths in it. */
export function chosen(list: FileList): Picked[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}
