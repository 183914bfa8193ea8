import { render } from "preact";
import { App } from "./frame.tsx";
import { followLinks } from "./route.ts";
import { applyTheme } from "./theme.ts";

applyTheme();
followLinks();
render(<App />, document.getElementById("page")!);
