// What somebody typed in this browser and did not save, wherever it is.

import { useDrafted } from "../../shared/drafts/places.ts";
import { Icon } from "../../shared/icons.tsx";
import { Ago, Empty, Path } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { address } from "../route.ts";
import { say } from "./words.ts";

export function UnsavedScreen({ session }: { session: Schemas["Session"] }) {
  const files = useDrafted({ account: session.username });
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <div>
          <h1>{t("unsaved")}</h1>
          <p class="sub">{say("unsavedLead")}</p>
        </div>
      </header>
      {files?.length === 0 && (
        <Empty icon="check" title={say("allSaved")}>
          <p>{say("allSavedHint")}</p>
        </Empty>
      )}
      {files && files.length > 0 && (
        <table class="list unsaved">
          <thead>
            <tr>
              <th>{say("file")}</th>
              <th class="end">{say("typed")}</th>
            </tr>
          </thead>
          <tbody>
            {files.map(({ repo, branch, path, at }) => (
              <tr key={`${repo}\n${branch}\n${path}`}>
                <td>
                  <a class="cover" href={address({ screen: "files", repo, branch, path })}>
                    <Icon of="file" />
                    <span>
                      <Path path={path} />
                      <span class="sub" translate={false}>
                        {repo} · {branch}
                      </span>
                    </span>
                  </a>
                </td>
                <td class="end dim">{at > 0 && <Ago at={new Date(at).toISOString()} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </main>
  );
}
