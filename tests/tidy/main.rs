//! Checks of the source text itself: the arrows between the layers, what belongs to one layer only,
//! circles of files, the length of files, lines and folders, words that are not used, and what a visitor sees
//! at the top.

mod circles;
mod harnesses;
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each layer and the layers below it that it may import (architecture section 2).
const MAY_IMPORT: [(&str, &[&str]); 8] = [
    ("base", &[]),
    ("object", &["base"]),
    ("store", &["base"]),
    ("manifest", &["base", "object", "store"]),
    ("repo", &["base", "object", "store", "manifest"]),
    ("access", &["base", "store", "repo"]),
    ("http", &["base", "repo", "access"]),
    (
        "cli",
        &[
            "base", "object", "store", "manifest", "repo", "access", "http",
        ],
    ),
];

/// Names that only some layers may utter: packages that stay in their layer, and the authority to
/// change a project, which nobody but these may make out of nothing.
const ONLY_IN: [(&str, &[&str]); 13] = [
    ("hyper::", &["http"]),
    ("hyper_util::", &["http", "store"]),
    ("hyper_rustls::", &["store"]),
    ("object_store::", &["store"]),
    ("http_body_util::", &["http", "store"]),
    ("clap::", &["cli"]),
    ("toml::", &["cli"]),
    ("tracing_subscriber::", &["cli"]),
    ("rustix::termios::", &["cli"]),
    ("rusqlite::", &["store"]),
    ("tokio_postgres::", &["store"]),
    ("argon2::", &["access"]),
    ("ProjectWriter::new", &["access", "cli", "repo"]),
];

/// What is visible at the top, and nothing else; configuration of tools lies in dotfiles.
const TOP_LEVEL: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "objects-layout.md",
    "tests",
    "benches",
    "README.md",
];

const FILE_LINES_MAX: usize = 500;
const LINE_CHARS_MAX: usize = 120;
/// The one file whose lines may be longer: requests as clients of others have sent them.
const LONG_LINES: &str = "tests/clients/replayed.rs";
const FOLDER_FILES_MAX: usize = 16;
const HTTP_LOOSE_FILES_MAX: usize = 8;
/// One screen.
const FRONT_DOOR_LINES_MAX: usize = 50;

#[test]
fn layers_import_only_downwards_and_keep_to_themselves_what_is_theirs() {
    let mut faults = Vec::new();
    for (layer, _) in MAY_IMPORT {
        for path in rust_files(&root().join("src").join(layer)) {
            faults.extend(faults_of(layer, &shown(&path), &read(&path)));
        }
    }
    assert_none(&faults);
}

#[test]
fn every_source_file_belongs_to_a_layer() {
    let known = |path: &Path| {
        let inside = path.strip_prefix(root().join("src")).unwrap();
        let first = inside.components().next().unwrap().as_os_str();
        MAY_IMPORT.iter().any(|(layer, _)| first == *layer)
            || inside == Path::new("lib.rs")
            || inside == Path::new("main.rs")
            || inside == Path::new("page/build.rs")
    };
    let strays: Vec<_> = rust_files(&root().join("src"))
        .into_iter()
        .filter(|path| !known(path))
        .map(|path| shown(&path))
        .collect();
    assert_none(&strays);
}

#[test]
fn files_are_short() {
    let mut faults = Vec::new();
    let mut hold = |path: &Path, most: usize| {
        let lines = read(path).lines().count();
        if lines > most {
            faults.push(format!("{}: {lines} lines, at most {most}", shown(path)));
        }
    };
    for folder in ["src", "tests", "benches"] {
        for path in rust_files(&root().join(folder)) {
            hold(&path, FILE_LINES_MAX);
        }
    }
    hold(&root().join("src/lib.rs"), FRONT_DOOR_LINES_MAX);
    hold(&root().join("src/main.rs"), 20);
    assert_none(&faults);
}

#[test]
fn lines_are_short() {
    let mut faults = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for path in rust_files(&root().join(folder)) {
            let name = shown(&path);
            if name != LONG_LINES {
                faults.extend(long_lines(&name, &read(&path)));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn no_files_of_a_layer_form_a_circle() {
    let sources = rust_files(&root().join("src"));
    let files: Vec<_> = sources
        .iter()
        .map(|path| (shown(path), read(path)))
        .collect();
    assert_none(&circles::circles(&files));
}

#[test]
fn folders_are_small() {
    let paths: Vec<_> = rust_files(&root().join("src"))
        .iter()
        .map(|path| shown(path))
        .collect();
    assert_none(&crowded(&paths));
}

#[test]
fn quotation_marks_are_plain_and_functions_say_what_they_do() {
    let mut faults = Vec::new();
    let mut texts = text_files(&root().join("tests"));
    texts.extend(text_files(&root().join("benches")));
    texts.extend(["README.md", "objects-layout.md"].map(|name| root().join(name)));
    let sources = text_files(&root().join("src"));
    for path in texts.iter().chain(&sources) {
        faults.extend(quotation_faults(&shown(path), &read(path)));
    }
    for path in &sources {
        faults.extend(naming_faults(&shown(path), &read(path)));
    }
    assert_none(&faults);
}

#[test]
fn the_top_level_is_the_architectures() {
    let ignored = read(&root().join(".gitignore"));
    let ignored: Vec<_> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let strays: Vec<_> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && !ignored.contains(&name.as_str()))
        .filter(|name| !TOP_LEVEL.contains(&name.as_str()))
        .collect();
    assert_none(&strays);
}

#[test]
fn the_checks_find_what_they_look_for() {
    let count = |layer, text| faults_of(layer, &format!("src/{layer}/x.rs"), text).len();
    for (layer, wrong) in [
        ("base", "use crate::store::Store;"),
        ("object", "let x = crate::store::Scan::prefix(\"a\");"),
        ("store", "use crate::object::Node;"),
        ("http", "use crate::store::StoreError;"),
        ("http", "use crate::{base::id::BlobId, access::Gate};"),
        ("repo", "pub(in crate::access) fn f() {}"),
        ("http", "use super::super::base::id;"),
        ("repo", "use hyper::Request;"),
        ("access", "fn f(e: rusqlite::Error) {}"),
        ("http", "let w = ProjectWriter::new(project, \"me\");"),
    ] {
        assert_eq!(count(layer, wrong), 1, "{layer}: {wrong}");
    }
    for (layer, fine) in [
        ("http", "use crate::access::Gate;"),
        ("http", "use crate::http::route;"),
        ("cli", "use super::manifest;"),
        ("store", "use rusqlite::Connection;"),
        ("repo", "/// As `hyper::Body` in [`crate::http`]."),
        ("http", "use not_rusqlite::x; use my_crate::y;"),
        ("access", "ProjectWriter::new(project, actor)"),
    ] {
        assert_eq!(count(layer, fine), 0, "{layer}: {fine}");
    }
    let many: Vec<_> = (0..17).map(|n| format!("src/http/read/{n}.rs")).collect();
    assert_eq!(crowded(&many), ["src/http/read: 17 files, at most 16"]);
    assert_eq!(crowded(&many[..16]), [""; 0]);
    let loose: Vec<_> = (0..9).map(|n| format!("src/http/{n}.rs")).collect();
    assert_eq!(crowded(&loose), ["src/http: 9 files, at most 8"]);
    let line = "\u{e9}".repeat(120);
    assert_eq!(long_lines("x", &line).len(), 0);
    let longer = format!("a\n{line}b");
    assert_eq!(
        long_lines("x", &longer),
        ["x:2: 121 characters, at most 120"]
    );
    assert_eq!(quotation_faults("x", "a\n\u{ab}b\u{bb}").len(), 1);
    assert_eq!(quotation_faults("x", "\"b\"").len(), 0);
    for (text, faults) in [
        ("pub fn answer(x: u8) {}", 1),
        ("    async fn answer<T>(x: T) {}", 1),
        ("fn answered() {} // fn answers", 0),
    ] {
        assert_eq!(naming_faults("x", text).len(), faults, "{text}");
    }
}

#[test]
fn a_circle_of_files_is_found_and_what_is_none_is_not() {
    let door = (
        "src/repo/mod.rs",
        "mod a;\nmod b;\nmod c;\npub use a::{A, Other};\npub use b::B as Bee;\n",
    );
    let count = |files: &[(&str, &str)]| {
        let mut all = vec![door];
        all.extend(files);
        let owned: Vec<_> = all
            .iter()
            .map(|(path, text)| ((*path).into(), (*text).into()))
            .collect();
        circles::circles(&owned).len()
    };
    let a = |text| ("src/repo/a.rs", text);
    let b = |text| ("src/repo/b.rs", text);
    for (what, wrong) in [
        (
            "by use",
            [a("use super::b::B;"), b("use crate::repo::a::A;")],
        ),
        (
            "by a door",
            [a("use super::Bee;"), b("use super::{Other, x::Y};")],
        ),
        (
            "by paths",
            [
                a("fn f(b: super::b::B) {}"),
                b("use super::a;\nfn f() { a::g(); }"),
            ],
        ),
        (
            "in groups",
            [
                a("use super::{\n    b::{B, C},\n};"),
                b("use crate::repo::{A};"),
            ],
        ),
        (
            "indented",
            [
                a("fn f() {\n    use super::Bee as _;\n}"),
                b("use super::A;"),
            ],
        ),
    ] {
        assert_eq!(count(&wrong), 1, "{what}");
    }
    for (what, fine) in [
        ("one way", [a("use super::Bee;"), b("struct B;")]),
        (
            "in a comment",
            [
                a("use super::Bee;"),
                b("/// See [`super::a::A`].\nstruct B;"),
            ],
        ),
        (
            "in unit tests",
            [
                a("use super::b::B;"),
                b("#[cfg(test)]\nmod tests {\n    use crate::repo::A;\n}"),
            ],
        ),
        (
            "to another layer",
            [a("use super::b::B;"), b("use crate::store::A;")],
        ),
    ] {
        assert_eq!(count(&fine), 0, "{what}");
    }
    // A folder's file with something of its own is a part of circles; its re-exports are not, and
    // what a file takes from its own folder's is not.
    let folder = |text| ("src/repo/c/mod.rs", text);
    let inner = |text| ("src/repo/c/d.rs", text);
    let taken = "mod d;\nuse d::D;\npub struct C(D);";
    let seen = "mod d;\npub use d::D;\npub struct C;";
    let used = "mod d;\npub use d::D;\npub struct C(D);";
    let (to_a, to_c) = (inner("use crate::repo::A;"), a("use super::c::C;"));
    assert_eq!(count(&[folder(taken), to_a, to_c]), 1);
    assert_eq!(count(&[folder(used), to_a, to_c]), 1);
    assert_eq!(count(&[folder(seen), to_a, to_c]), 0);
    assert_eq!(count(&[folder(seen), to_a, a("use super::c::D;")]), 1);
    assert_eq!(count(&[folder(taken), inner("use super::C;")]), 0);
}

/// What is wrong with a layer's source text. Comments may point anywhere.
fn faults_of(layer: &str, path: &str, text: &str) -> Vec<String> {
    let allowed = MAY_IMPORT
        .iter()
        .find_map(|(name, allowed)| (*name == layer).then_some(*allowed))
        .expect("every layer is in the table");
    let mut faults = Vec::new();
    let code = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//")
    });
    for (index, line) in code {
        let mut fault = |what: String| faults.push(format!("{path}:{}: {what}", index + 1));
        for after in uses(line, "crate::") {
            let name = leading_word(after);
            if name.is_empty() {
                fault("groups imports across layers; write one `use` a layer".into());
            } else if name != layer && !allowed.contains(&name) {
                fault(format!("{layer} imports \"{name}\""));
            }
        }
        for after in uses(line, "super::") {
            let target = after.trim_start_matches("super::");
            let supers = 1 + (after.len() - target.len()) / "super::".len();
            // What is indented may be in a module of its own, as unit tests are.
            let inner = usize::from(line.starts_with(' '));
            if supers >= module_depth(path) + inner {
                fault("leaves its layer through `super`; say `crate::`".into());
            }
        }
        for (name, layers) in ONLY_IN {
            if !layers.contains(&layer) && uses(line, name).next().is_some() {
                fault(format!("\"{name}\" belongs to {}", layers.join(", ")));
            }
        }
    }
    faults
}

/// The folders of these files that hold too many.
fn crowded(paths: &[String]) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for path in paths {
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        *counts.entry(folder).or_default() += 1;
    }
    let faults = counts.iter().filter_map(|(folder, count)| {
        let most = match *folder {
            "src/http" => HTTP_LOOSE_FILES_MAX,
            _ => FOLDER_FILES_MAX,
        };
        (*count > most).then(|| format!("{folder}: {count} files, at most {most}"))
    });
    faults.collect()
}

/// The lines that are too long. `rustfmt` wraps neither comments nor strings.
fn long_lines(path: &str, text: &str) -> Vec<String> {
    let lengths = text.lines().map(|line| line.chars().count()).enumerate();
    let long = lengths.filter(|(_, length)| *length > LINE_CHARS_MAX);
    long.map(|(index, length)| {
        let line = index + 1;
        format!("{path}:{line}: {length} characters, at most {LINE_CHARS_MAX}")
    })
    .collect()
}

fn quotation_faults(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let faulty = lines.filter(|(_, line)| line.contains(['\u{ab}', '\u{bb}']));
    faulty
        .map(|(index, _)| format!("{path}:{}: say it in \"\"", index + 1))
        .collect()
}

/// Nine functions were called `answer` once, and none of the names said which answer.
fn naming_faults(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let faulty = lines
        .filter(|(_, line)| uses(line, "fn answer").any(|after| after.starts_with(['(', '<'])));
    faulty
        .map(|(index, _)| format!("{path}:{}: a function called \"answer\"", index + 1))
        .collect()
}

/// How many modules below the crate a file's module is: 1 for `src/http/mod.rs`.
fn module_depth(path: &str) -> usize {
    let depth = path.matches('/').count();
    depth - usize::from(path.ends_with("/mod.rs"))
}

/// What follows each use of `name` as a word of its own.
fn uses<'a>(line: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(name).filter_map(move |(at, found)| {
        let before = line[..at].chars().next_back();
        let own = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
        own.then(|| &line[at + found.len()..])
    })
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shown(path: &Path) -> String {
    let inside = path.strip_prefix(root()).unwrap_or(path);
    inside.display().to_string()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file of the project is readable text")
}

/// The Rust files of a folder and below; none if there is no such folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|e| e == "rs");
    files_below(folder).into_iter().filter(is_rust).collect()
}

/// The files of a folder and below that are text.
fn text_files(folder: &Path) -> Vec<PathBuf> {
    let is_text = |path: &PathBuf| fs::read_to_string(path).is_ok();
    files_below(folder).into_iter().filter(is_text).collect()
}

/// All files of a folder and below but those that tools put there.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a folder of the project is readable").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with('.') || matches!(name, "target" | "node_modules" | "__pycache__") {
            continue;
        }
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
