// Which language a file is in, by its name.

export type Language = "xml" | "json" | "yaml" | "ini" | "properties" | "bsl" | "text";

const BY_ENDING: Readonly<Record<string, Language>> = {
  xml: "xml",
  xsd: "xml",
  xsl: "xml",
  xslt: "xml",
  html: "xml",
  htm: "xml",
  svg: "xml",
  mdo: "xml",
  form: "xml",
  json: "json",
  yaml: "yaml",
  yml: "yaml",
  ini: "ini",
  conf: "properties",
  cfg: "properties",
  properties: "properties",
  toml: "properties",
  env: "properties",
  bsl: "bsl",
  os: "bsl",
};

/** The language of a path; `text` where the ending says nothing. */
export function language(path: string): Language {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return BY_ENDING[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "text";
}

/** What the status line calls it; empty for plain text. */
export function languageName(language: Language): string {
  return language === "text" ? "" : language === "properties" ? "Properties" : language.toUpperCase();
}

/** Whether `check` knows the rules of a path's format. HTML and its like are XML only for the colours. */
export function checkable(path: string): "xml" | "json" | "yaml" | "ini" | null {
  const found = language(path);
  if (found === "xml") return /\.html?$/i.test(path) ? null : "xml";
  return found === "json" || found === "yaml" || found === "ini" ? found : null;
}
