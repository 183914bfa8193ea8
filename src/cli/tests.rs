//! The commands as a person types them, against a store on the disk.

mod audit;
mod config;
mod import;
mod manual;
mod token;
mod unwritten;
mod user;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::engine::key_file_in;
use super::first_start::server_key;
use super::open_store::OpenStore;
use super::{Streams, run_on};
use crate::store::engine::{Engine, Purpose, StoreAddress};

impl<'a> Streams<'a> {
    /// Streams that are open, with nothing on the input, and that no person sees.
    pub(super) fn unseen(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self {
            // It has no size: nothing is leaked.
            input: Box::leak(Box::new(std::io::empty())),
            out,
            err,
            input_is_terminal: false,
            out_is_terminal: false,
            out_is_closed: false,
            input_is_closed: false,
            err_is_terminal: false,
        }
    }
}

/// A folder with a store that has no account yet, and room beside it.
pub(super) struct Desk {
    folder: TempDir,
}

/// What a command wrote, and its exit code.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: ExitCode,
    pub(super) out: String,
    pub(super) err: String,
}

impl Desk {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = StoreAddress::Folder(folder.path().join("data"));
        let opened = OpenStore::of(Engine::open(&data, None, Purpose::Serve).unwrap());
        let key_file = key_file_in(opened.data_folder().unwrap());
        server_key(key_file, &opened.projects, &opened.accounts, None).unwrap();
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn run(&self, words: &[&str]) -> Ran {
        self.run_with("", words)
    }

    /// Runs a command with this on its standard input; no person is there.
    pub(super) fn run_with(&self, input: &str, words: &[&str]) -> Ran {
        self.run_at(false, input, words)
    }

    /// What a command that must succeed says to a person who sees its output.
    #[track_caller]
    pub(super) fn said(&self, words: &[&str]) -> String {
        let ran = self.run_at(true, "", words);
        assert_eq!(ran.code, ExitCode::SUCCESS, "{words:?}: {ran:?}");
        ran.out
    }

    /// Runs a command with this on its standard input; a person sees its results or not.
    pub(super) fn run_at(&self, out_is_terminal: bool, input: &str, words: &[&str]) -> Ran {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = Streams {
            input: &mut input.as_bytes(),
            out_is_terminal,
            ..Streams::unseen(&mut out, &mut err)
        };
        let code = run_on(self.line(words), streams);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code,
            out: text(out),
            err: text(err),
        }
    }

    /// The whole command line.
    pub(super) fn line(&self, words: &[&str]) -> Vec<OsString> {
        let data = self.path("data").into_os_string();
        let head = ["siteconf".into(), "--data".into(), data];
        head.into_iter()
            .chain(words.iter().map(OsString::from))
            .collect()
    }

    /// Runs a command that must succeed and say nothing but its result.
    #[track_caller]
    pub(super) fn done(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (ExitCode::SUCCESS, ""),
            "{words:?}"
        );
        ran.out
    }

    #[track_caller]
    pub(super) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.done(words)).unwrap()
    }

    /// Runs a command that must end with this code; what it said.
    #[track_caller]
    pub(super) fn refused(&self, code: u8, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, ExitCode::from(code), "{words:?}: {ran:?}");
        assert_eq!(ran.out, "", "{words:?}");
        ran.err
    }

    /// A folder with two files, imported as `acme/shop.erp:main` of an account `ann`.
    pub(super) fn with_project() -> Self {
        let desk = Self::new();
        desk.account("ann", &[]);
        lay(
            &desk.path("in"),
            &[("a.xml", "<a/>"), ("conf/b.xml", "<b/>")],
        );
        desk.import(&["--owner", "ann"]);
        desk
    }

    /// Makes an account with these roles; its password.
    #[track_caller]
    pub(super) fn account(&self, name: &str, roles: &[&str]) -> String {
        let roles = roles.iter().flat_map(|role| ["--role", role]);
        let words: Vec<_> = ["user", "add", name].into_iter().chain(roles).collect();
        self.done(&words)
    }

    /// Makes a token called `n`; what is said of it.
    #[track_caller]
    pub(super) fn token(&self, owner: &str, flags: &[&str]) -> String {
        let create = ["token", "create", "--user", owner, "--name", "n"];
        self.done(&[&create[..], flags].concat())
    }

    #[track_caller]
    pub(super) fn import(&self, flags: &[&str]) -> String {
        let dir = self.path("in").display().to_string();
        self.done(&[&["import", "acme/shop.erp", "main", &dir], flags].concat())
    }
}

pub(super) fn lay(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn help_is_a_result_and_a_wrong_line_is_a_refusal() {
    let desk = Desk::new();
    assert!(desk.done(&["--help"]).contains("Usage: siteconf"));
    assert_eq!(
        desk.done(&["-V"]),
        concat!("siteconf ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for (wrong, named) in [
        (&["serv"][..], "serv"),
        (
            &["user", "add", "x", "--role", "ROLE_ADMIN"],
            "unknown role \"ROLE_ADMIN\"",
        ),
        (&["token", "create", "--user", "a", "--name", "b"], "--repo"),
        (
            &[
                "token", "create", "--user", "a", "--name", "b", "--all", "--repo", "c",
            ],
            "--all",
        ),
        (&["export", "acme", "main", "x"], "malformed project"),
        (
            &["debug", "digest", "acme/shop.erp"],
            "must be REPO_ID:REVISION",
        ),
        (&["debug", "object", "abc"], "\"abc\" must be 4 to 64"),
        (&["debug", "object", ""], "siteconf: \"\" must be 4 to 64"),
        (
            &["pull", "http://x", "acme/shop.erp", "big@v0001", "out"],
            "siteconf: \"big@v0001\" is a snapshot, which never changes: a folder is kept equal to a branch, \
             as big\n",
        ),
        (
            &["pull", "http://x", "acme/shop.erp", "big@v1", "out"],
            "it ends like a snapshot, in \"@v\" and digits; one is written behind the name of its branch, with \
             zeros up to four digits, as in main@v0002\n",
        ),
        (
            &["serve", "--listen", "8080"],
            "listen = 8080 (--listen): it must be an address and a port",
        ),
        (
            &["serve", "--external-url", "conf"],
            "external_url = \"conf\" (--external-url): it must be http",
        ),
    ] {
        let said = desk.refused(2, wrong);
        assert!(said.contains(named), "{wrong:?}: {said}");
    }
}

#[test]
fn a_folder_without_a_store_is_refused_and_left_alone() {
    let desk = Desk::new();
    let empty = desk.path("empty").display().to_string();
    fs::create_dir(&empty).unwrap();
    let said = desk.refused(1, &["user", "list", "--data", &empty]);
    assert_eq!(
        said,
        format!(
            "siteconf: {empty}: the folder is empty; name the folder of the store with --data or \
             SITECONF_DATA, or, if there is none yet, have it made with \"siteconf init --data {empty}\"\n"
        )
    );
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
}

#[test]
fn a_folder_goes_in_and_comes_out_the_same() {
    let desk = Desk::with_project();
    lay(&desk.path("in"), &[("conf/c.xml", "<c/>")]);
    fs::remove_file(desk.path("in/a.xml")).unwrap();
    assert!(
        desk.import(&[])
            .contains("2 files, 8 bytes imported into acme/shop.erp:main, now ")
    );
    let out = |name: &str| desk.path(name).display().to_string();
    assert_eq!(
        desk.done(&["export", "acme/shop.erp", "main", &out("laid")]),
        format!("3 files exported to {}\n", out("laid"))
    );
    desk.import(&["--mirror"]);
    desk.done(&["export", "acme/shop.erp", "main", &out("mirrored")]);
    assert!(!desk.path("mirrored/a.xml").exists());
    assert_eq!(
        fs::read_to_string(desk.path("mirrored/conf/c.xml")).unwrap(),
        "<c/>"
    );
    desk.done(&["export", "acme/shop.erp", "main@v0002", &out("before")]);
    assert_eq!(
        fs::read_to_string(desk.path("before/a.xml")).unwrap(),
        "<a/>"
    );

    let said = desk.refused(1, &["export", "acme/shop.erp", "main", &out("laid")]);
    assert!(said.contains("is not empty"), "{said}");
    let said = desk.refused(1, &["import", "acme/new.erp", "main", &out("in")]);
    assert_eq!(
        said,
        "siteconf: there is no project acme/new.erp; with --owner NAME it is made\n"
    );
    let said = desk.refused(
        1,
        &["import", "acme/shop.erp", "main", &out("gone"), "--mirror"],
    );
    assert!(said.starts_with("siteconf: reading "), "{said}");
    let listed = desk.json(&["project", "list", "--json"]);
    assert_eq!(
        [
            &listed[0]["repo_id"],
            &listed[0]["owner"],
            &listed[0]["default_branch"]
        ],
        [&json!("acme/shop.erp"), &json!("ann"), &json!("main")]
    );
}

/// A reader that has left.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_secret_that_nobody_could_read_is_not_left_behind() {
    let desk = Desk::with_project();
    for (words, said) in [
        (
            &["token", "create", "--user", "ann", "--name", "x", "--all"][..],
            "writing the token: broken pipe; it is revoked again",
        ),
        (
            &["user", "add", "bob"],
            "writing the password: broken pipe; it is set, and nobody has seen it: set another with \
             \"siteconf user passwd bob\"",
        ),
    ] {
        let (mut out, mut err) = (Closed, Vec::new());
        let streams = Streams::unseen(&mut out, &mut err);
        let code = run_on(desk.line(words), streams);
        let err = String::from_utf8(err).unwrap();
        assert_eq!(
            (code, err),
            (ExitCode::from(1), format!("siteconf: {said}\n"))
        );
    }
    assert_eq!(desk.json(&["token", "list", "--json"]), json!([]));
}

#[test]
fn a_refusal_says_what_there_is_and_what_to_do() {
    let desk = Desk::with_project();
    desk.account("dave", &[]);
    let names = "names nothing in acme/shop.erp: it must be a branch, a snapshot as in main@v0007, or a \
                 commit id; its branches: main";
    let out = desk.path("out").display().to_string();
    for reference in ["nobranch", "dev@v1x", "main@1", "abc"] {
        for words in [
            &["export", "acme/shop.erp", reference, &out][..],
            &["debug", "digest", &format!("acme/shop.erp:{reference}")],
        ] {
            let said = desk.refused(1, words);
            assert_eq!(said, format!("siteconf: \"{reference}\" {names}\n"));
        }
    }
    assert_eq!(
        desk.refused(1, &["export", "acme/none.erp", "main", &out]),
        "siteconf: there is no project acme/none.erp; \"siteconf project list\" names all\n"
    );
    let create = ["token", "create", "--user", "dave", "--name", "x"];
    assert_eq!(
        desk.refused(1, &[&create[..], &["--repo", "acme/shop.erp"]].concat()),
        "siteconf: dave may not read acme/shop.erp; give it a role for that first, as with \"siteconf \
         user role add dave ROLE_SITEBUILDER_USER__acme/shop.erp\"\n"
    );
    let said = desk.refused(2, &["user", "add", "bad name"]);
    assert!(
        said.starts_with("siteconf: malformed user name \"bad name\": "),
        "{said}"
    );
    let database = desk.path("data/store.db");
    fs::write(&database, "no database at all, ".repeat(1000)).unwrap();
    let said = desk.refused(1, &["project", "list"]);
    assert_eq!(
        said,
        format!(
            "siteconf: {}: database: file is not a database: store.db is damaged; see what is left with \
             \"siteconf debug check\", and restore the folder from a backup\n",
            desk.path("data").display()
        )
    );
}

#[test]
fn a_reader_that_left_is_no_failure() {
    let desk = Desk::with_project();
    for words in [
        &["project", "list"][..],
        &["debug", "digest", "acme/shop.erp:main"],
    ] {
        let (mut out, mut err) = (Closed, Vec::new());
        let streams = Streams::unseen(&mut out, &mut err);
        let code = run_on(desk.line(words), streams);
        assert_eq!((code, err), (ExitCode::SUCCESS, Vec::new()), "{words:?}");
    }
}
