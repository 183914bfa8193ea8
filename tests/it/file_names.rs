//! Names of files, ordinary and malformed: contract section 3, and the same in every place that
//! takes a path.

use serde_json::json;

use crate::harness::{ADMIN, Answer, Daemon, Project, paths, segment};

/// Names a client may use, each kept to the byte.
const ORDINARY: [&str; 22] = [
    "Справочники/Контр агенты/a+b%c#d?e&f=g;h,i~j_k-l.m(1)[2]{3}|^`'\"@:!$*.xml",
    ".hidden",
    ".gitignore",
    ".gitmodules",
    ".github/workflow",
    "a b/c d.xml",
    "a+b.xml",
    "100%.xml",
    "%2e%2e%2fetc",
    "%25",
    "what?.xml",
    "a#b",
    "a&b=c",
    "C:/x",
    "CON",
    "HEAD",
    "raw",
    "files/raw/tree",
    "blobs",
    "...",
    "caf\u{e9}",
    "cafe\u{301}",
];

/// Malformed paths as they stand encoded in a target.
const MALFORMED: [&str; 43] = [
    "..",
    ".",
    "../x",
    "a/../b",
    "./a",
    "a/.",
    "a/./b",
    "%2e%2e%2fetc%2fpasswd",
    "%2E%2E/x",
    ".%2e/x",
    "..%2fx",
    "..%5cx",
    "%2e%2e%5cx",
    "a%5cb",
    "%5c%5chost%5cshare",
    "C:%5cx",
    "%c0%ae%c0%ae%c0%af",
    "%c0%2e",
    "%ed%a0%80",
    "%ff",
    "%e2%82",
    "%00",
    "a%00.txt",
    "a.txt%00.png",
    "%0d%0aSet-Cookie:x",
    "a%0ab",
    "a%09b",
    "%7f",
    "%c2%85",
    "%e2%80%a8",
    "a%e2%80%aetxt.exe",
    ".g%e2%80%8cit",
    "%2fetc%2fpasswd",
    "a%2F%2Fb",
    "a%2F",
    ".git",
    ".GIT",
    ".git/config",
    "a/.git/hooks/pre-commit",
    "git~1",
    ".git.",
    ".git%20",
    ".git::$INDEX_ALLOCATION",
];

#[test]
fn ordinary_names_are_kept_to_the_byte() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    for name in ORDINARY {
        let saved = project.save("main", name, name).json();
        assert_eq!(saved["path"], name);
        let answer = project.user.get(&project.file("main", name));
        answer.assert_bytes(200, name.as_bytes());
        let answer = reader.get(&project.raw(name));
        answer.assert_bytes(200, name.as_bytes());
    }
    let tree = project.tree("main");
    for name in ORDINARY {
        assert!(paths(&tree).contains(&name), "{name} is not listed");
    }
}

#[test]
fn names_that_differ_by_a_byte_are_different_files() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let names = [
        "a",
        "A",
        "а",
        "caf\u{e9}",
        "cafe\u{301}",
        "ß",
        "SS",
        "ﬀ",
        "ff",
        "a ",
        "a.",
    ];
    for name in names {
        project.save("main", name, name);
    }
    assert_eq!(project.branch_item("main")["files"], names.len());
    for name in names {
        let answer = project.user.get(&project.file("main", name));
        answer.assert_bytes(200, name.as_bytes());
    }
}

#[test]
fn malformed_paths_are_refused_and_change_nothing() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    for path in MALFORMED {
        let target = project.on("main", &format!("/files/{path}"));
        for (method, body) in [("PUT", Some(b"x")), ("GET", None), ("DELETE", None)] {
            let request = project.user.request(method, &target);
            let request = match body {
                Some(body) => request.body(body),
                None => request,
            };
            let answer = request.send();
            assert_eq!(answer.status, 400, "{method} {path}: {answer:?}");
            for (name, value) in &answer.headers {
                assert!(!value.contains("Set-Cookie") && name != "Set-Cookie");
            }
        }
        let answer = reader.get(&project.read(&format!("/files/{path}/raw")));
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
    }
    assert_eq!(project.tree("main"), json!([]));
    assert_eq!(project.versions("main"), [""; 0]);
}

#[test]
fn a_malformed_folder_in_a_query_is_refused() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    for path in [
        "..", "./a", "a/.", "a/../b", "a//b", "a%5cb", "%00", "a%0d%0ab", ".git", "%ff", "%zz",
    ] {
        let query = format!("/tree?path={path}");
        let answer = project.user.get(&project.on("main", &query));
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        let answer = reader.get(&project.read(&query));
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
    }
    // The root for the Read API alone.
    let dot = project.user.get(&project.on("main", "/tree?path=."));
    dot.assert_refused(400);
}

#[test]
fn lengths_are_bounded_in_bytes() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let longest_segment = "s".repeat(255);
    let deepest = vec!["d"; 64].join("/");
    let longest = [
        vec!["p".repeat(255); 15].join("/"),
        "p".repeat(254),
        "p".into(),
    ]
    .join("/");
    assert_eq!(longest.len(), 4096);
    for path in [&longest_segment, &deepest, &longest] {
        project.save("main", path, "x");
        let answer = project.user.get(&project.file("main", path));
        answer.assert_bytes(200, b"x");
    }
    let four_byte_characters = "\u{1f600}".repeat(64);
    for path in [
        &"s".repeat(256),
        &four_byte_characters,
        &vec!["d"; 65].join("/"),
        &format!("{longest}p"),
    ] {
        let target = project.file("main", path);
        project.user.put(&target, b"x").assert_refused(400);
        project.user.get(&target).assert_refused(400);
    }
    assert_eq!(project.branch_item("main")["files"], 3);
}

#[test]
fn a_path_is_decoded_exactly_once() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a%2Fb", "a literal escape");
    project.save("main", "a/b", "a folder");
    for (path, body) in [("a%2Fb", "a literal escape"), ("a/b", "a folder")] {
        let target = project.on("main", &format!("/files/{}", segment(path)));
        project.user.get(&target).assert_bytes(200, body.as_bytes());
    }
}

#[test]
fn a_plus_is_a_plus_in_a_path_and_a_space_in_a_query() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a+b/x", "plus");
    project.save("main", "a b/y", "space");
    let raw = project.on("main", "/files/a+b%2Fx");
    project.user.get(&raw).assert_bytes(200, b"plus");
    for (query, expected) in [("a+b", "a b/y"), ("a%20b", "a b/y"), ("a%2Bb", "a+b/x")] {
        let tree = project
            .user
            .get(&project.on("main", &format!("/tree?path={query}")));
        assert_eq!(paths(&tree.json()), [expected]);
    }
}

/// Of each kind one: a mark of direction, the end of a line, what joins, a soft hyphen, a tag, a letter's filler, a
/// vowel that is not written, what keeps letters apart.
const UNSEEN: [&str; 8] = [
    "a\u{202e}b",
    "a\u{2028}b",
    "a\u{200b}b",
    "a\u{ad}b",
    "a\u{e0041}b",
    "a\u{3164}b",
    "a\u{17b4}b",
    "a\u{34f}b",
];

#[test]
fn no_new_name_and_no_message_has_what_is_not_seen() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    project.save("main", "there", "1");
    let token = alice.issue(&json!({ "name": "seen", "repos": ["*"] }));
    let tokens = format!("{ADMIN}/tokens");
    let token = format!("{tokens}/{}", token["tokenId"].as_str().unwrap());
    let batch = project.on("main", "/batch");
    let refused = |answer: Answer, name: &str| {
        let text = answer.assert_refused(400);
        let says = ["bidirectional", "a control, bidirectional"];
        assert!(
            says.iter().any(|says| text.contains(says)),
            "{name:?}: {text}"
        );
    };
    for name in UNSEEN {
        let encoded = segment(name);
        let create = json!({ "actions": [
            { "action": "create", "file_path": name, "content": "x" },
        ] });
        let rename = json!({ "actions": [
            { "action": "move", "file_path": name, "previous_path": "there" },
        ] });
        for answer in [
            alice.put(&project.file("main", name), b"x"),
            alice.post(&batch, &create),
            alice.post(&batch, &rename),
            alice.put(
                &format!("{}?message={encoded}", project.file("main", "there")),
                b"2",
            ),
            alice.post(&project.admin("/branches"), &json!({ "name": name })),
            alice.patch(&project.on("main", ""), &json!({ "name": name })),
            alice.post(&tokens, &json!({ "name": name, "repos": ["*"] })),
            alice.patch(&token, &json!({ "name": name })),
        ] {
            refused(answer, name);
        }
    }
    // The only letters of a project's name that are not seen.
    let projects = format!("{ADMIN}/projects");
    for name in [
        "acme/sh\u{3164}op",
        "acme/sh\u{115f}op",
        "acme/sh\u{ffa0}op",
    ] {
        let body = json!({ "name": name, "type": "erp" });
        refused(alice.post(&projects, &body), name);
        refused(
            alice.patch(&project.admin(""), &json!({ "name": name })),
            name,
        );
    }
    assert_eq!(project.versions("main").len(), 1);
    // A form of a letter that has one, and of a symbol.
    project.save("main", "\u{2764}\u{fe0f}1\u{fe0f}\u{20e3}", "1");
    for name in ["a\u{fe0f}", "1\u{fe0f}", "\u{2764}\u{fe0f}\u{fe0f}"] {
        refused(alice.put(&project.file("main", name), b"x"), name);
    }
    // Scripts and emoji need joiners.
    let message = segment("👩\u{200d}🚀");
    let target = format!("{}?message={message}", project.file("main", "there"));
    alice.put(&target, b"2").expect_status(200);
}
