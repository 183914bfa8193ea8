// What a table of words holds.

/** One form for every number, or a form for each of the language's plural categories. */
export type Word = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

/** A table with the keys of another one, whose plural words have these categories. */
export type Translation<Table, Category extends Intl.LDMLPluralRule> = {
  [Key in keyof Table]: Table[Key] extends string ? string : Record<Category, string>;
};

/** The categories of Russian. */
export type Russian = "one" | "few" | "many" | "other";
