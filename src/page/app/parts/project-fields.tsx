import { t } from "../../shared/text.ts";

/** What a project is called: its name and its type make its id. */
export function ProjectFields({ name = "", type = "erp" }: { name?: string; type?: string }) {
  return (
    <>
      <label>
        {t("name")}
        <input name="name" required autofocus maxLength={100} placeholder="acme/shop" defaultValue={name} />
      </label>
      <label>
        {t("type")}
        <input name="type" required defaultValue={type} pattern="[a-z0-9][a-z0-9_\-]*" maxLength={32} />
      </label>
    </>
  );
}

/** What was filled in. */
export const namedIn = (fields: FormData) => ({
  name: String(fields.get("name")).trim(),
  type: String(fields.get("type")).trim(),
});
