// Light or dark: as the system has it, or as somebody chose here.
export const themes = ["", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function theme(): Theme {
  const kept = localStorage.getItem("theme");
  return themes.find((name) => name === kept) ?? "";
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
}

export function setTheme(name: Theme): void {
  if (name) localStorage.setItem("theme", name);
  else localStorage.removeItem("theme");
  applyTheme();
}
