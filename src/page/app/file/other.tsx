import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../shared/icons.tsx";
import { complain, notify } from "../../shared/notice.tsx";
import { Copy, Empty } from "../../shared/parts.tsx";
import { ago, size, wordsOf } from "../../shared/text.ts";
import { hasStatus } from "../api.ts";
import { address } from "../route.ts";
import type { Drawn } from "./drawn.ts";
import { lastChange, type Place, saveFile } from "./remote.ts";
import { say } from "./words.ts";

interface OtherProps {
  place: Place;
  other: NonNullable<Drawn["other"]>;
  editable: boolean;
  onReplaced: () => void;
  onCreate: () => void;
}

/** A file that is no text: what there is to know of it, and a way to replace it. */
export function Other({ place, other, editable, onReplaced, onCreate }: OtherProps) {
  if (other.kind === "none") {
    if (!place.at) return <Missing place={place} {...(editable ? { onCreate } : {})} />;
    return (
      <Empty icon="file" title={say("fileGone")}>
        {say("fileGoneHint")}
      </Empty>
    );
  }
  const replace = async (file: File | undefined) => {
    if (!file) return;
    try {
      await saveFile(place, file, other.etag, "");
      notify(say("replaced", { path: place.path }));
    } catch (error) {
      const isLate = hasStatus(error, 412);
      complain(isLate ? say("troubleOther", { message: `${say("conflict")}.` }) : wordsOf(error));
    }
    onReplaced();
  };
  const image = other.kind === "binary" ? other.image : null;
  const digest = other.etag.replaceAll('"', "");
  return (
    <div class="other">
      <Empty icon="file" title={say(other.kind === "large" ? "tooLarge" : "binary")}>
        {image && <img src={image} alt={place.path} />}
        <p>{say(editable ? "binaryHint" : "binaryHintRead", { size: size(other.size) })}</p>
        {editable && (
          <label class="button">
            <Icon of="upload" />
            {say("replaceFile")}
            <input
              type="file"
              class="said"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                // Else a browser would say nothing of the same file chosen once more.
                event.currentTarget.value = "";
                void replace(file);
              }}
            />
          </label>
        )}
        <p class="sub digest-line">
          {say("contentDigest")} <code>{digest.slice(0, 16)}…</code>
          <Copy text={digest} />
        </p>
      </Empty>
    </div>
  );
}

/** A file that the branch does not have: what became of it, and the way to make it. */
function Missing({ place, onCreate }: { place: Place; onCreate?: () => void }) {
  const { repo, branch, path } = place;
  const [last, set] = useState<Awaited<ReturnType<typeof lastChange>>>(null);
  useEffect(() => {
    let stays = true;
    void lastChange(place).then((found) => stays && set(found));
    return () => {
      stays = false;
    };
  }, []);
  return (
    <Empty icon="file" title={say("noFile", { path })}>
      {last && <p>{say("removedBy", { who: last.created_by, when: ago(last.created_at) })}</p>}
      <div class="ways">
        {last && (
          <a class="button" href={address({ screen: "files", repo, branch, path, change: last.version })}>
            {say("seeChange")}
          </a>
        )}
        {onCreate && (
          <button type="button" class="button" onClick={onCreate}>
            <Icon of="plus" />
            {say("createFile")}
          </button>
        )}
      </div>
    </Empty>
  );
}
