import { render } from "preact";
import { applyTheme } from "./frame/theme.ts";
import { App } from "./frame.tsx";
import { followLinks } from "./route.ts";

applyTheme();
followLinks();
render(<App />, document.getElementById("page")!);
