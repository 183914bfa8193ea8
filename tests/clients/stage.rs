//! The daemon and the project that every client meets, and the truth about them.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;

use crate::harness::{Daemon, Project, READ, User, branch_digest, git, git_blob_id};
use crate::pair::Pair;

/// Files on `main`, in all.
const FILES: usize = 1_234;
/// More branches than the largest page has.
const BRANCHES: usize = 104;

/// Every printable ASCII character that a path may have, Cyrillic, and spaces.
pub(crate) const SPECIAL: &str =
    "Справочники/Контр агенты/a+b%c#d?e&f=g;h,i~j_k-l.m(1)[2]{3}|^`'\"@:!$*.xml";
/// A leading dot.
pub(crate) const HIDDEN: &str = "Отчёты/.настройки.txt";
/// A branch with a slash in its name.
pub(crate) const OTHER: &str = "feature/цены+b";

/// Files whose names are easily got wrong, with their text.
const NAMED: [(&str, &str); 6] = [
    (SPECIAL, "<?xml version=\"1.0\"?>\n<агент/>\n"),
    (HIDDEN, "язык = ru\n"),
    (".скрытый файл.json", "{\"цена\": 1}\n"),
    (
        "100% #1 + 50%25 & c?.txt",
        "a percent sign is a percent sign\n",
    ),
    ("raw/raw", "a file named raw, in a folder named raw\n"),
    ("Мои файлы/a+b/цены.xml", "<цены/>\n"),
];

/// The rest of the folder of the last of them; its listing begins with folders.
const FOLDER: &str = "Мои файлы/a+b";
const FOLDER_FILES: [&str; 3] = ["c d/1.txt", "1.txt", ".b"];
const FOLDER_NAMES: [&str; 4] = ["c d", ".b", "1.txt", "цены.xml"];

/// What is played on.
#[derive(Debug)]
pub(crate) struct Stage {
    daemon: Daemon,
    folder: TempDir,
    /// What the clients are told is so.
    pub(crate) truth: Value,
}

impl Stage {
    /// Starts a daemon with two projects, of which the clients read the first.
    pub(crate) fn set() -> Self {
        let folder = tempfile::tempdir().expect("a folder of our own");
        let [cert, key] = Pair::new().write(folder.path());
        let [cert, key] = [&cert, &key].map(|path| path.to_str().expect("a path in ASCII"));
        let tls = [
            "--tls-listen",
            "127.0.0.1:0",
            "--tls-cert",
            cert,
            "--tls-key",
            key,
        ];
        let daemon = Daemon::start_with(&[&["--root-mount"], &tls[..]].concat());
        let alice = daemon.user("alice", &[]);
        let project = Project::create(&alice, "acme/shop");
        let slug = Project::with_main(&alice, "solo");
        let work = folder.path().join("work");
        let files = lay_files(&work);
        let path = work.to_str().expect("a path in ASCII");
        daemon.run(&["import", &project.id, "main", path], "");
        for number in 0..BRANCHES - 2 {
            copy_main(&project, &format!("archive/{number:03}"));
        }
        copy_main(&project, OTHER);
        let other = ("config/цены.xml", "<цены валюта=\"EUR\"/>\n");
        project.save(OTHER, other.0, other.1);

        let mut branches: Vec<_> = (0..BRANCHES - 2)
            .map(|number| format!("archive/{number:03}"))
            .collect();
        branches.extend([OTHER.to_owned(), "main".to_owned()]);
        let files: Vec<_> = files
            .iter()
            .map(|(p, b)| (p.as_str(), b.as_bytes()))
            .collect();
        let mut tree = git::listing_of_folder(&work);
        tree.sort();
        let named = NAMED.map(|(path, text)| described(path, text, "main"));
        let truth = json!({
            "username": "alice",
            "project": { "id": project.id, "number": project.number },
            "slug": { "id": slug.id, "number": slug.number },
            "commit_id": branch_digest(&files)[..40],
            "branches": branches,
            "tree": tree,
            "folder": { "path": FOLDER, "names": FOLDER_NAMES },
            "files": named,
            "other_branch": described(other.0, other.1, OTHER),
            "tokens": {
                "good": token(&alice, &[&project.id, &slug.id]),
                "elsewhere": token(&alice, &[&slug.id]),
                "everywhere": token(&alice, &["*"]),
                "unknown": "0".repeat(64),
            },
        });
        fs::write(folder.path().join("truth.json"), truth.to_string()).expect("ours");
        Self {
            daemon,
            folder,
            truth,
        }
    }

    /// The address of the daemon.
    pub(crate) fn address(&self) -> SocketAddr {
        self.daemon.address()
    }

    /// The base URL as it is given to a client.
    pub(crate) fn base(&self) -> String {
        format!("http://{}{READ}", self.address())
    }

    /// The address of its TLS listener.
    pub(crate) fn tls_address(&self) -> SocketAddr {
        let serving = self.daemon.logged("\"serving\"");
        let places = serving["address"].as_str().expect("text").split(' ');
        let mut found = places.filter_map(|place| place.strip_prefix("https://"));
        let address = found.next().expect("it speaks TLS");
        address.parse().expect("an address")
    }

    /// The base URL as it is given to a client that speaks TLS.
    pub(crate) fn tls_base(&self) -> String {
        format!("https://{}{READ}", self.tls_address())
    }

    /// The file of the certificate that the daemon shows.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The file of its key.
    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The truth as a file.
    pub(crate) fn truth_file(&self) -> PathBuf {
        self.folder.path().join("truth.json")
    }
}

/// Writes the files of `main` and answers their paths and texts. One is executable.
fn lay_files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = NAMED
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    files.extend(FOLDER_FILES.map(|name| (format!("{FOLDER}/{name}"), format!("{name}\n"))));
    files.push(("bin/start.sh".into(), "#!/bin/sh\n".into()));
    // The same file at the same path on another branch says something else.
    files.push(("config/цены.xml".into(), "<цены валюта=\"RUB\"/>\n".into()));
    for number in files.len()..FILES {
        let path = format!(
            "Номенклатура/Группа {:02}/товар-{number:04}.xml",
            number % 37
        );
        // Every other has the bytes of its neighbour: one blob may stand at many paths.
        files.push((path, format!("<товар код=\"{}\"/>\n", number / 2)));
    }
    for (path, text) in &files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("ours");
        fs::write(&path, text).expect("ours");
    }
    let start = folder.join("bin/start.sh");
    fs::set_permissions(start, fs::Permissions::from_mode(0o755)).expect("ours");
    files
}

fn copy_main(project: &Project, name: &str) {
    let body = json!({ "name": name, "from": "main" });
    let answer = project.user.post(&project.admin("/branches"), &body);
    drop(answer.expect_status(201));
}

fn described(path: &str, text: &str, reference: &str) -> Value {
    json!({
        "path": path,
        "ref": reference,
        "text": text,
        "base64": STANDARD.encode(text),
        "size": text.len(),
        "sha256": hex::encode(sha2::Sha256::digest(text)),
        "blob_id": git_blob_id(text.as_bytes()),
    })
}

fn token(user: &User, repos: &[&str]) -> String {
    let token = user.issue(&json!({ "name": "client", "repos": repos }));
    token["tokenString"].as_str().expect("a token").to_owned()
}
