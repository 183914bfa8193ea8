import type { history as english } from "./history.en.ts";
import type { Russian, Translation } from "./table.ts";

export const history: Translation<typeof english, Russian> = {};
