// Words, numbers and dates in the language of the page. The words come from one table a language: the keys
// are those of English, and the type checker holds the others to them.
import { en } from "./text/en.ts";
import { ru } from "./text/ru.ts";
import type { Word } from "./text/table.ts";

export type Key = keyof typeof en;
export type Language = "en" | "ru";

const tables: Record<Language, Record<Key, Word>> = { en, ru };
export const languages: { id: Language; name: string }[] = [
  { id: "en", name: "English" },
  { id: "ru", name: "Русский" },
];

function isLanguage(id: string | null): id is Language {
  return id !== null && Object.hasOwn(tables, id);
}

function preferred(): Language {
  const kept = localStorage.getItem("language");
  if (isLanguage(kept)) return kept;
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? "en";
}

export const language: Language = preferred();
// A reader of English in Berlin wants 17:26: the language of the page, the region of the browser.
export const locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language;
document.documentElement.lang = language;

export function setLanguage(id: Language): void {
  localStorage.setItem("language", id);
  location.reload();
}

const plural = new Intl.PluralRules(language);
const integers = new Intl.NumberFormat(locale);

type Values = Record<string, string | number>;

/**
 * Gives the words of a key of these tables: what comes with a chunk of its own has its own tables. `{name}` in the
 * words is replaced by the value of that name; `n` chooses the plural form.
 */
export function wordsFrom<K extends string>(
  tables: Record<Language, Record<K, Word>>,
): (key: K, values?: Values) => string {
  return (key, values = {}) => {
    const word = tables[language][key];
    const text = typeof word === "string" ? word : (word[plural.select(Number(values["n"]))] ?? word.other);
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      if (value === undefined) return whole;
      return typeof value === "number" ? number(value) : value;
    });
  };
}

/** The words that every screen may need. */
export const t: (key: Key, values?: Values) => string = wordsFrom(tables);

/** An error that says what it is in the language of the page. */
export abstract class Worded extends Error {
  /** Nothing answered: it may be tried again once something does. */
  get isAway(): boolean {
    return false;
  }
  abstract get words(): string;
}

export const isAway = (error: unknown): boolean => error instanceof Worded && error.isAway;

/** The words for anything that was thrown. */
export const wordsOf = (error: unknown): string => (error instanceof Worded ? error.words : String(error));

export function number(value: number): string {
  return integers.format(value);
}

const units: Record<Language, string[]> = {
  en: ["B", "KB", "MB", "GB", "TB"],
  ru: ["Б", "КБ", "МБ", "ГБ", "ТБ"],
};

/** A size in bytes, as `5.7 KB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit > 0 && value < 10 ? 1 : 0;
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value)} ${units[language][unit]}`;
}

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const spans: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** How long ago, or until when: `3 hr. ago`, `in 11 days`. */
export function ago(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  if (Math.abs(seconds) < 45) return t("justNow");
  const [unit, length] = spans.find(([, span]) => Math.abs(seconds) >= span) ?? ["minute", 60];
  return relative.format(Math.round(seconds / length), unit);
}

const whole = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short" });
const daysOfYears = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });

export const when = (iso: string): string => whole.format(new Date(iso));
export const date = (iso: string): string => dates.format(new Date(iso));
export const time = (iso: string): string => clock.format(new Date(iso));

const midnight = (at: Date): number => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();

/** The day as people call it: `Today`, `Yesterday`, `Thu 19 Nov`. */
export function day(iso: string): string {
  const at = new Date(iso);
  const today = new Date();
  const back = Math.round((midnight(today) - midnight(at)) / 86_400_000);
  if (back === 0) return t("today");
  if (back === 1) return t("yesterday");
  return (at.getFullYear() === today.getFullYear() ? days : daysOfYears).format(at);
}
