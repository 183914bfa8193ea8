//! The files of a revision, as the server lists them. What it says is not believed: a path that no branch
//! may have ends the pull.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use ureq::http::HeaderMap;

use super::address::{Targets, tree_query};
use super::client::{Client, RequestOptions, header, incoming, shown};
use crate::base::digest::byte_count;
use crate::base::file_path::FilePath;
use crate::base::id::GitId;
use crate::cli::pull::fault::{Fault, Pulled};

/// Most entries of a tree.
pub(in crate::cli::pull) const ENTRIES_MAX: usize = 2_000_000;
/// Most bytes of a listing, with all its pages.
const LISTING_BYTES_MAX: u64 = 1 << 30;
/// Pages that a tree may have beside one for each [`PAGE_ENTRIES_LEAST`] of its entries.
const PAGES_SPARE: usize = 1000;
/// How many entries the pages of a tree of many pages have at least, on an average.
const PAGE_ENTRIES_LEAST: usize = 10;
/// Entries of a page, where a server has pages; the most that GitLab gives.
const PAGED: &str = "&per_page=100&pagination=keyset";

/// A file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::pull) struct TreeFile {
    /// The id that git gives its bytes.
    pub(in crate::cli::pull) id: GitId,
    pub(in crate::cli::pull) is_executable: bool,
}

/// All files of a tree.
#[derive(Debug, Default)]
pub(in crate::cli::pull) struct Tree {
    /// By their paths.
    pub(in crate::cli::pull) files: BTreeMap<String, TreeFile>,
    /// Links and submodules, which only GitLab has: they are not laid out.
    pub(in crate::cli::pull) left_out: BTreeSet<String>,
    entries: usize,
    /// Bytes of what was read.
    bytes: u64,
}

#[derive(Debug, Deserialize)]
struct EntryJson {
    id: String,
    path: String,
    #[serde(default)]
    r#type: String,
    mode: String,
}

impl Tree {
    /// Asks for the tree of a revision: whole, and where the server cuts it into pages, page by page.
    pub(in crate::cli::pull) fn ask(
        client: &Client,
        targets: &Targets,
        revision: &str,
    ) -> Pulled<Self> {
        let (mut tree, more) = Self::page(client, &targets.tree(revision, ""), Self::default())?;
        if more.is_none() {
            return tree.checked();
        }
        // In pages as large as can be had: what came is the first of the small ones.
        tree = Self::default();
        let mut query = tree_query(revision, PAGED);
        let mut asked = BTreeSet::new();
        loop {
            if !asked.insert(query.clone()) {
                return Err(Fault::lasting(
                    "the pages of the server's tree lead round in a circle",
                ));
            }
            let before = tree.entries;
            let (longer, more) = Self::page(client, &targets.tree_page(&query), tree)?;
            tree = longer;
            let pages_max = PAGES_SPARE + tree.entries / PAGE_ENTRIES_LEAST;
            if more.is_some() && (tree.entries == before || asked.len() > pages_max) {
                return Err(Fault::lasting(
                    "the server's tree is refused: its pages have next to nothing in them, and do not end",
                ));
            }
            query = match more {
                None => return tree.checked(),
                Some(More::Link(query)) => query,
                Some(More::Number(number)) => {
                    tree_query(revision, &format!("&per_page=100&page={number}"))
                }
            };
        }
    }

    /// Reads one listing, and whether another follows.
    fn page(client: &Client, target: &str, before: Self) -> Pulled<(Self, Option<More>)> {
        let mut tree = Some(before);
        client.repeated(|| {
            let response = client.get_once(target, RequestOptions::default())?;
            let more = More::of(response.headers());
            let left = LISTING_BYTES_MAX - tree.as_ref().map_or(0, |tree| tree.bytes);
            // Whole before it is read, so that a listing that breaks off can be asked for again.
            let mut text = Vec::new();
            incoming(response)
                .take(left + 1)
                .read_to_end(&mut text)
                .map_err(|e| client.failed(e.into()))?;
            if byte_count(&text) > left {
                return Err(Fault::lasting(format!(
                    "the server's tree is refused: its listing has more than {LISTING_BYTES_MAX} bytes"
                )));
            }
            let mut longer = tree.take().unwrap_or_default();
            longer.bytes += byte_count(&text);
            longer.read(&text)?;
            Ok((longer, more))
        })
    }

    /// Adds the entries of a listing.
    fn read(&mut self, json: &[u8]) -> Pulled<()> {
        let mut json = serde_json::Deserializer::from_slice(json);
        json.deserialize_seq(Adding(self)).map_err(|error| {
            Fault::lasting(format!(
                "the server's tree is refused: {}",
                shown(&error.to_string())
            ))
        })
    }

    fn add(&mut self, entry: &EntryJson) -> Result<(), String> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(format!("it has more than {ENTRIES_MAX} entries"));
        }
        let path = FilePath::parse(&entry.path).map_err(|e| format!("\"{}\": {e}", entry.path))?;
        let path = path.as_str().to_owned();
        let is_executable = match entry.mode.as_str() {
            "040000" | "40000" => return Ok(()),
            "120000" | "160000" => {
                self.left_out.insert(path);
                return Ok(());
            }
            "100644" | "100664" => false,
            "100755" => true,
            mode => return Err(format!("\"{path}\" has the mode \"{mode}\"")),
        };
        if !matches!(entry.r#type.as_str(), "blob" | "") {
            return Err(format!("\"{path}\" is a \"{}\"", entry.r#type));
        }
        let id = entry.id.parse();
        let id = id.map_err(|e| format!("the id of \"{path}\" is none: {e}"))?;
        let file = TreeFile { id, is_executable };
        if self.files.insert(path.clone(), file).is_some() {
            return Err(format!("\"{path}\" is in it twice"));
        }
        Ok(())
    }

    /// The tree, if no file of it is a folder, too.
    fn checked(self) -> Pulled<Self> {
        for path in self.files.keys() {
            if let Some(file) = folders_of(path).find(|folder| self.files.contains_key(*folder)) {
                return Err(Fault::lasting(format!(
                    "the server's tree is refused: \"{file}\" is a file and a folder"
                )));
            }
        }
        Ok(self)
    }
}

/// The folders that a path lies in, from the top on.
pub(in crate::cli::pull) fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Takes the entries of a listing one by one: the JSON of a million would take a GiB.
struct Adding<'a>(&'a mut Tree);

impl<'de> Visitor<'de> for Adding<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            self.0.add(&entry).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// How the next page is asked for.
#[derive(Debug, PartialEq, Eq)]
enum More {
    /// With this query, of a link.
    Link(String),
    /// By its number.
    Number(u64),
}

impl More {
    fn of(headers: &HeaderMap) -> Option<Self> {
        // Of a link only the query counts: where the service stands behind a proxy, its host may be one
        // that the token is not for.
        let links = header(headers, "link").unwrap_or_default();
        let next = links.split(',').find_map(|link| {
            let (url, relation) = link.split_once(';')?;
            let is_next = relation.contains("rel=\"next\"");
            let url = url.trim().strip_prefix('<')?.strip_suffix('>')?;
            let (_, query) = url.split_once('?')?;
            let is_plain = query
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'#');
            (is_next && is_plain).then(|| Self::Link(query.to_owned()))
        });
        let number = || {
            let number = header(headers, "x-next-page")?.trim().parse().ok()?;
            Some(Self::Number(number))
        };
        next.or_else(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "ce013625030ba8dba906f756967f9e9ca394464a";

    fn read(entries: &[(&str, &str, &str)]) -> Result<Vec<String>, String> {
        let entries: Vec<_> = entries
            .iter()
            .map(|(path, mode, kind)| {
                serde_json::json!({"id": ID, "name": "x", "type": kind, "path": path, "mode": mode})
            })
            .collect();
        let mut tree = Tree::default();
        tree.read(serde_json::json!(entries).to_string().as_bytes())
            .and_then(|()| tree.checked())
            .map(|tree| tree.files.into_keys().collect())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_tree_of_ordinary_names_is_taken() {
        let entries = [
            ("конфиг", "040000", "tree"),
            ("конфиг/a \"b\".xml", "100644", "blob"),
            ("run.sh", "100755", "blob"),
            ("link", "120000", "blob"),
            ("module", "160000", "commit"),
        ];
        assert_eq!(read(&entries).unwrap(), ["run.sh", "конфиг/a \"b\".xml"]);
    }

    #[test]
    fn what_would_leave_the_folder_is_refused() {
        for path in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            ".git/hooks/post-checkout",
            "a//b",
            "",
            "a\\b",
            "a\u{0}b",
            ".",
        ] {
            let said = read(&[(path, "100644", "blob")]).unwrap_err();
            assert!(said.starts_with("the server's tree is refused: "), "{said}");
        }
        for entries in [
            &[("a", "100644", "blob"), ("a/b", "100644", "blob")][..],
            &[("a", "100644", "blob"), ("a", "100644", "blob")],
            &[("a", "100600", "blob")],
            &[("a", "100644", "commit")],
        ] {
            assert!(read(entries).is_err(), "{entries:?}");
        }
        let mut tree = Tree::default();
        for wrong in [
            "",
            "{}",
            "[{}]",
            r#"[{"id":"x","path":"a","mode":"100644"}]"#,
            r#"[{"id":"#,
        ] {
            assert!(tree.read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn of_a_link_to_the_next_page_only_the_query_counts() {
        let more = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            More::of(&headers)
        };
        let links = "<https://evil/x?page=1>; rel=\"prev\", <https://evil/y?a=b&page_token=c>; rel=\"next\"";
        assert_eq!(
            more("link", links),
            Some(More::Link("a=b&page_token=c".to_owned()))
        );
        assert_eq!(more("link", "<https://a/x?page=1>; rel=\"first\""), None);
        assert_eq!(more("x-next-page", "3"), Some(More::Number(3)));
        assert_eq!(more("x-next-page", ""), None);
    }
}
