//! Checks of the page's source text: short modules that form no circles, small folders, and nothing that its policy
//! would refuse or that would make markup of a text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::circles::{Ties, among};
use super::{assert_none, read, root, shown, text_files};

const MODULE_LINES_MAX: usize = 300;
const STYLE_LINES_MAX: usize = 500;
const FOLDER_MODULES_MAX: usize = 16;

/// What makes markup or scripts of a text, and styles in attributes.
const UNSPOKEN: [&str; 7] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "eval(",
    "new Function",
    "style=",
];

/// From where a module takes something: types, too, and what is fetched later.
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\b(?:from|import)\s*\(?\s*"(?P<from>\.[^"]*)""#).expect("a right expression")
});

#[test]
fn modules_of_the_page_are_short_and_say_nothing_that_its_policy_refuses() {
    let mut faults = Vec::new();
    for (path, text) in modules() {
        faults.extend(faults_of(&path, &text));
    }
    assert_none(&faults);
}

#[test]
fn folders_of_the_page_are_small() {
    let mut counts = BTreeMap::<String, usize>::new();
    for (path, _) in modules() {
        let (folder, _) = path.rsplit_once('/').unwrap();
        *counts.entry(folder.to_owned()).or_default() += 1;
    }
    let crowded = counts
        .iter()
        .filter(|(_, count)| **count > FOLDER_MODULES_MAX);
    let faults: Vec<_> = crowded
        .map(|(folder, count)| format!("{folder}: {count} modules, at most {FOLDER_MODULES_MAX}"))
        .collect();
    assert_none(&faults);
}

#[test]
fn no_modules_of_the_page_form_a_circle() {
    assert_none(&circles(&modules()));
}

#[test]
fn a_circle_of_modules_is_found_and_what_is_none_is_not() {
    let count = |a: &str, b: &str| {
        let files = [("src/page/app/a.tsx", a), ("src/page/app/of/b.ts", b)];
        circles(&files.map(|(path, text)| (path.to_owned(), text.to_owned()))).len()
    };
    let to_b = "import { b } from \"./of/b.ts\";";
    for wrong in [
        "import { a } from \"../a.tsx\";",
        "import type { A } from \"../a.tsx\";",
        "import {\n  a,\n  type A,\n} from \"../a.tsx\";",
        "import \"../a.tsx\";",
        "export { a } from \"../a.tsx\";",
        "const a = () => import(\"../a.tsx\");",
    ] {
        assert_eq!(count(to_b, wrong), 1, "{wrong}");
    }
    for fine in [
        "export const b = 1;",
        "import { a } from \"./a.tsx\";",
        "import { a } from \"a.tsx\";",
        "import { b } from \"./b.ts\";",
    ] {
        assert_eq!(count(to_b, fine), 0, "{fine}");
    }
}

#[test]
fn the_checks_of_the_page_find_what_they_look_for() {
    let count = |text: &str| faults_of("src/page/app/x.tsx", text).len();
    for word in UNSPOKEN {
        assert_eq!(count(&format!("a {word} b")), 1, "{word}");
    }
    assert_eq!(count(&"\n".repeat(301)), 1);
    assert_eq!(count("node.style.top = `${top}px`;"), 0);
}

fn faults_of(path: &str, text: &str) -> Vec<String> {
    let most = if path.contains("/style/") {
        STYLE_LINES_MAX
    } else {
        MODULE_LINES_MAX
    };
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > most {
        faults.push(format!("{path}: {lines} lines, at most {most}"));
    }
    for (index, line) in text.lines().enumerate() {
        for word in UNSPOKEN.iter().filter(|word| line.contains(**word)) {
            faults.push(format!("{path}:{}: \"{word}\"", index + 1));
        }
    }
    faults
}

/// The circles among these modules, given by their paths from the project's root and their texts.
fn circles(files: &[(String, String)]) -> Vec<String> {
    let paths: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let mut ties = Ties::new();
    for (path, text) in files {
        for found in IMPORT.captures_iter(text) {
            let from = &found["from"];
            let target = paths.get(resolved(path, from).as_str());
            if let Some(target) = target.filter(|target| *target != path) {
                let ties = ties.entry(path).or_default();
                ties.entry(target).or_default().insert(from.to_owned());
            }
        }
    }
    among(&ties)
}

/// The path that a relative one in a module leads to.
fn resolved(module: &str, to: &str) -> String {
    let mut names: Vec<&str> = module.split('/').collect();
    names.pop();
    for name in to.split('/') {
        match name {
            "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// The page's own modules, styles among them, by their paths.
fn modules() -> Vec<(String, String)> {
    let is_module = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default();
        // Types that the check of the page makes.
        name != "admin.d.ts"
            && ["ts", "tsx", "mjs", "css", "html"]
                .iter()
                .any(|e| extension == *e)
    };
    ["app", "editor", "shared", "style"]
        .iter()
        .flat_map(|folder| text_files(&root().join("src/page").join(folder)))
        .filter(is_module)
        .map(|path| (shown(&path), read(&path)))
        .collect()
}
