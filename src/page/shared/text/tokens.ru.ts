import type { Russian, Translation } from "./table.ts";
import type { tokens as english } from "./tokens.en.ts";

export const tokens: Translation<typeof english, Russian> = {};
