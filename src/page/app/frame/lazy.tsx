// Parts of the page that the first screen does without: each is fetched when it is first shown.

import type { ComponentChildren, ComponentType } from "preact";
import { Dialog } from "../../shared/dialog.tsx";
import { useLoaded } from "../../shared/load.ts";
import { Coming, Trouble } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { Failure, reached } from "../api.ts";

/** A part that does not come is one that an updated service does not have, or the service is away: that is looked for. */
export async function noted<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch {
    reached(false);
    throw new NoPart(0, "");
  }
}

/**
 * Asks again for a part that did not come. Some browsers keep that it failed for as long as the page is open, so the
 * page is loaded anew: its address is its state, and drafts are kept. Without the service it stays.
 */
export async function renew(): Promise<void> {
  const answer = await fetch("/site-builder/", { method: "HEAD", cache: "no-cache" }).catch(() => null);
  if (answer?.ok) location.reload();
  else reached(false);
}

/** A part of the page that did not come. */
export class NoPart extends Failure {
  // An answer may well be that it is not there.
  override get isAway(): boolean {
    return false;
  }
  override get words(): string {
    return t("noPart");
  }
}

/** What stands where a part did not come. */
export const Missing = () => <Trouble words={t("noPart")} onAgain={renew} />;

/** A component that is fetched; `around` is drawn around what is shown until it has come. */
export function lazy<Props extends object>(
  fetch: () => Promise<ComponentType<Props>>,
  around: (inside: ComponentChildren, props: Props) => ComponentChildren,
): ComponentType<Props> {
  let known: ComponentType<Props> | null = null;
  return function Part(props: Props) {
    const part = useLoaded<ComponentType<Props>>([], () => (known ? null : noted(fetch())));
    known ??= part.value;
    const Known = known;
    if (Known) return <Known {...props} />;
    return <>{around(<Coming of={{ error: part.error, again: renew }} />, props)}</>;
  };
}

/** A dialog that is fetched; until it has come, another of this title stands in its place. */
export function lazyDialog<Props extends { onClose: () => void }>(
  fetch: () => Promise<ComponentType<Props>>,
  title: (props: Props) => string,
): ComponentType<Props> {
  return lazy(fetch, (inside, props) => (
    <Dialog title={title(props)} onClose={props.onClose}>
      {inside}
    </Dialog>
  ));
}

/** A screen that is one list. */
export const asScreen = (inside: ComponentChildren) => (
  <main id="main" class="sheet-page" tabIndex={-1}>
    {inside}
  </main>
);
