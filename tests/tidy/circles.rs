//! Circles of files: which file of a layer takes something from which other one, read from `use` and
//! from paths in the code. What a file takes from the `mod.rs` of a folder that it lies in does not
//! count: that is its own module's scope.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// `use` with what stands before and behind it.
static USE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^[ \t]*(?P<seen>pub(?:\([^)]*\))?[ \t]+)?use\s+(?P<tree>[^;]+);")
        .expect("a right expression")
});
static MODULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:pub(?:\([^)]*\))?[ \t]+)?mod\s+(\w+);").expect("a right expression")
});
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+").expect("a right expression"));

/// A path as its segments, from the crate on.
type Names = Vec<String>;

/// What files take, by file and by the file that it is taken from.
pub(crate) type Ties<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<String>>>;

/// A file as a module.
#[derive(Default)]
struct Module {
    file: String,
    /// The code without comments, `use`, `mod` and unit tests.
    code: String,
    /// What its `use`s bring, and from where.
    aliases: BTreeMap<String, Names>,
    /// What others can take from it though it stands elsewhere.
    reexports: BTreeMap<String, Names>,
}

impl Module {
    /// A `mod.rs` that only declares and re-exports has nothing of its own to take.
    fn is_door(&self) -> bool {
        let attributes = |line: &str| line.starts_with("#[") || line.starts_with("#![");
        let mut lines = self.code.lines().map(str::trim);
        self.file.ends_with("/mod.rs") && lines.all(|line| line.is_empty() || attributes(line))
    }
}

/// The circles among these files, given by their paths from the project's root and their texts: of
/// each the files, and what ties them.
pub(crate) fn circles(files: &[(String, String)]) -> Vec<String> {
    let modules: BTreeMap<Names, Module> = files
        .iter()
        .filter(|(path, _)| !path.contains("/tests"))
        .map(|(path, text)| (names_of(path), module(path, text)))
        .collect();
    let mut ties = Ties::new();
    for (at, module) in &modules {
        for (target, name) in taken(&modules, at, module) {
            let outside = target != module.file && !is_scope(target, &module.file);
            if outside && layer_of(target) == layer_of(&module.file) {
                let ties = ties.entry(&module.file).or_default();
                ties.entry(target).or_default().insert(name);
            }
        }
    }
    among(&ties)
}

/// The circles that these ties make: of each the files, and what ties them.
pub(crate) fn among(ties: &Ties<'_>) -> Vec<String> {
    let all: BTreeMap<&str, BTreeSet<&str>> = ties
        .keys()
        .map(|file| (*file, reached(ties, file)))
        .collect();
    let mut circles = BTreeMap::new();
    for (file, reached) in &all {
        if reached.contains(file) {
            let back = |other: &&&str| all.get(**other).is_some_and(|back| back.contains(file));
            let circle: BTreeSet<&str> = reached.iter().filter(back).copied().collect();
            circles.insert(circle.first().copied(), circle);
        }
    }
    let shown = |circle: &BTreeSet<&str>| {
        let mut lines = vec![format!("a circle of {} files:", circle.len())];
        for from in circle {
            for (to, names) in ties.get(from).into_iter().flatten() {
                if circle.contains(to) {
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    lines.push(format!("  {from} -> {to}: {}", names.join(", ")));
                }
            }
        }
        lines.join("\n")
    };
    circles.values().map(shown).collect()
}

/// The files that a file leads to, over others too.
fn reached<'a>(ties: &Ties<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(next) = open.pop() {
        for target in ties.get(next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(*target) {
                open.push(target);
            }
        }
    }
    reached
}

/// The module of a file: `src/http/reply/mod.rs` is `http::reply`.
fn names_of(path: &str) -> Names {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inside = inside.trim_end_matches("/mod");
    inside.split('/').map(str::to_owned).collect()
}

/// True for the `mod.rs` of a folder that the file lies in.
fn is_scope(module: &str, file: &str) -> bool {
    let folder = module.strip_suffix("mod.rs");
    folder.is_some_and(|folder| file.starts_with(folder))
}

fn layer_of(path: &str) -> Option<&str> {
    path.split('/').nth(1)
}

fn module(path: &str, text: &str) -> Module {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let at = names_of(path);
    let children: BTreeSet<String> = MODULE
        .captures_iter(&text)
        .map(|found| found[1].to_owned())
        .collect();
    let mut module = Module {
        file: path.to_owned(),
        code: MODULE.replace_all(&USE.replace_all(&text, ""), "").into(),
        ..Module::default()
    };
    for child in &children {
        module.aliases.insert(child.clone(), below(&at, child));
    }
    for found in USE.captures_iter(&text) {
        let mut leaves = Vec::new();
        expand(&mut Vec::new(), &found["tree"], &mut leaves);
        for (path, alias) in leaves {
            let Some(path) = absolute(&at, &module.aliases, &path) else {
                continue;
            };
            if found.name("seen").is_some() {
                module.reexports.insert(alias.clone(), path.clone());
                // It is taken here only if it is used here.
                if !has_word(&module.code, &alias) {
                    continue;
                }
            }
            module.aliases.insert(alias, path);
        }
    }
    module
}

/// The paths of a tree of `use`, each with the name that it has here.
fn expand(prefix: &mut Names, tree: &str, leaves: &mut Vec<(Names, String)>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let before = prefix.len();
        let head = head.trim().split("::").filter(|name| !name.is_empty());
        prefix.extend(head.map(str::to_owned));
        let (mut depth, mut start) = (0_usize, 0);
        let group = group.trim_end().trim_end_matches('}');
        for (at, sign) in group.char_indices() {
            match sign {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(prefix, &group[start..at], leaves);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand(prefix, &group[start..], leaves);
        prefix.truncate(before);
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let mut names = prefix.clone();
    names.extend(path.trim().split("::").map(str::to_owned));
    if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
        names.pop();
    }
    let last = names.last().cloned().unwrap_or_default();
    if !last.is_empty() {
        let alias = alias.trim();
        let alias = if alias.is_empty() { last } else { alias.into() };
        leaves.push((names, alias));
    }
}

/// The path from the crate on; `None` for one that begins in another package.
fn absolute(at: &[String], aliases: &BTreeMap<String, Names>, path: &[String]) -> Option<Names> {
    let (first, rest) = path.split_first()?;
    let mut names = match first.as_str() {
        "crate" => Vec::new(),
        "self" => at.to_vec(),
        "super" => at[..at.len() - 1].to_vec(),
        alias => aliases.get(alias)?.clone(),
    };
    for name in rest {
        if name == "super" {
            names.pop();
        } else {
            names.push(name.clone());
        }
    }
    Some(names)
}

/// Every file that a module takes something from, and what.
fn taken<'m>(
    modules: &'m BTreeMap<Names, Module>,
    at: &[String],
    module: &Module,
) -> Vec<(&'m str, String)> {
    let mut paths: Vec<Names> = module.aliases.values().cloned().collect();
    for found in PATH.find_iter(&module.code) {
        let path: Names = found.as_str().split("::").map(str::to_owned).collect();
        paths.extend(absolute(at, &module.aliases, &path));
    }
    let found = paths.iter().filter_map(|path| owner(modules, path, 8));
    found
        .filter(|(owner, _)| !owner.is_door())
        .map(|(owner, name)| (owner.file.as_str(), name))
        .collect()
}

/// The module that a path leads to, re-exports followed, and what is taken from it; `None` for a path
/// to a module itself, of which the code then names what it takes.
fn owner<'m>(
    modules: &'m BTreeMap<Names, Module>,
    path: &[String],
    follow: usize,
) -> Option<(&'m Module, String)> {
    let lengths = (1..=path.len()).rev();
    let length = lengths
        .into_iter()
        .find(|length| modules.contains_key(&path[..*length]))?;
    let (module, name) = (&modules[&path[..length]], path.get(length)?);
    match module.reexports.get(name) {
        Some(target) if follow > 0 => {
            let target = [target.as_slice(), &path[length + 1..]].concat();
            owner(modules, &target, follow - 1)
        }
        _ => Some((module, name.clone())),
    }
}

fn below(at: &[String], name: &str) -> Names {
    let mut names = at.to_vec();
    names.push(name.to_owned());
    names
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|found| found == word)
}
