// Carries an upload, and tells how much of it has gone out: of that `fetch` says nothing.
import type { Carry } from "../api.ts";
import type { Save } from "./plan.ts";
import { tarSize } from "./tar.ts";

/** Carries requests; `onSent` hears how many bytes of the body have gone out. */
export function carrying(onSent: (bytes: number) => void): Carry {
  return (path, { method = "GET", headers, body, signal }) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const request = new XMLHttpRequest();
      request.open(method, path);
      new Headers(headers).forEach((value, name) => {
        request.setRequestHeader(name, value);
      });
      const tell = ({ loaded }: ProgressEvent) => onSent(loaded);
      request.upload.addEventListener("progress", tell);
      request.upload.addEventListener("load", tell);
      request.addEventListener("load", () => resolve(answerOf(request)));
      request.addEventListener("error", () => reject(new TypeError("nothing answered")));
      request.addEventListener("abort", () => reject(signal?.reason));
      signal?.addEventListener("abort", () => request.abort(), { once: true });
      request.send(body as XMLHttpRequestBodyInit | null | undefined);
    });
}

function answerOf(request: XMLHttpRequest): Response {
  const { status, statusText } = request;
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const isBare = status === 204 || status === 304;
  return new Response(isBare ? null : request.responseText, { status, statusText, headers });
}

/** The path of the first that cannot be read any more: a browser gives nothing of a file that was changed since. */
export async function unreadOf(
  files: readonly { path: string; file: Blob }[],
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { path, file } of files) {
    if (signal.aborted) return undefined;
    try {
      await file.slice(0, 1).arrayBuffer();
    } catch {
      return path;
    }
  }
  return undefined;
}

/** Bytes that a save sends. */
const bytesOf = (save: Save): number =>
  save.kind === "file" ? save.file.file.size : save.files.reduce((sum, file) => sum + tarSize(file), 1024);

/** How far an upload has come. */
export class Flow {
  readonly total: number;
  /** When anything went out last, or a save began. */
  moved = performance.now();
  #before = 0;
  #saving = 0;
  #sent = 0;

  constructor(saves: readonly Save[]) {
    this.total = saves.reduce((sum, save) => sum + bytesOf(save), 0);
  }

  /** Hears that a save begins. */
  begin(save: Save): void {
    this.#before += this.#saving;
    this.#saving = bytesOf(save);
    this.sent(0);
  }

  /** Hears how many bytes of the save that is under way have gone out. */
  sent(bytes: number): void {
    this.#sent = Math.min(bytes, this.#saving);
    this.moved = performance.now();
  }

  /** Bytes that have gone out. */
  get bytes(): number {
    return this.#before + this.#sent;
  }

  /** The service has all of the save that is under way, so it may be made whatever becomes of its answer. */
  get whole(): boolean {
    return this.#saving > 0 && this.#sent === this.#saving;
  }
}
