import type { accounts as english } from "./accounts.en.ts";
import type { Russian, Translation } from "./table.ts";

export const accounts: Translation<typeof english, Russian> = {};
