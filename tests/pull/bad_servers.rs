//! Servers that lie, break off, refuse, or are GitLab.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::fake::{Answer, Asked, Fake, branch, git_id};
use crate::mounted::Mounted;
use crate::relay::Relay;
use crate::scene::{Files, Scene, files, plain, read, refusal, said};

/// The id that git gives `hello\n`.
const HELLO: &str = "ce013625030ba8dba906f756967f9e9ca394464a";

#[test]
fn bytes_that_are_not_the_branch_never_reach_the_folder() {
    let mut scene = Scene::new();
    let before = files(&[("a", "before")]);
    scene.save(&before);
    scene.pulled(&[], &before);
    let mut after = before.clone();
    after.insert("conf".to_owned(), (b"the truth".to_vec(), false));
    scene.save(&after);
    // Other bytes than the tree says.
    let relay = Relay::to(&scene.daemon.base());
    relay.lie(b"the truth", b"the a lie");
    let told = refusal(&scene.command(&relay.base(), &[]).output().unwrap());
    assert!(
        told.starts_with(
            "siteconf: the server sends other bytes for \"conf\" than its tree says: "
        ),
        "{told}"
    );
    assert_eq!(read(&scene.dir()), before);
    scene.pulled(&[], &after);
}

/// A server with these files under `conf/`, whose commit id is the one given.
fn serving(tree: serde_json::Value, commit: &str, is_siteconf: bool) -> Fake {
    let commit = commit.to_owned();
    Fake::new(move |asked: &Asked| {
        let target = asked.target.as_str();
        if target.ends_with("/health") && is_siteconf {
            return Answer::json(&json!({"status": "ok"}));
        }
        if target.contains("/branches/") {
            let commit = json!({"id": commit, "short_id": commit[..8]});
            return Answer::json(&json!({"name": "main", "commit": commit}));
        }
        if target.contains("/tree?") {
            return Answer::json(&tree);
        }
        if target.contains("/raw?") {
            return Answer::bytes(b"hello\n");
        }
        Answer::refusal("404 Not Found", "404 Not Found")
    })
}

fn entry(path: &str, mode: &str) -> serde_json::Value {
    let kind = if mode == "160000" { "commit" } else { "blob" };
    json!({"id": HELLO, "name": "x", "type": kind, "path": path, "mode": mode})
}

#[test]
fn a_tree_that_is_not_the_heads_does_not_pass_the_digest() {
    let scene = Scene::new();
    let commit = "ab".repeat(20);
    let fake = serving(json!([entry("conf/a", "100644")]), &commit, true);
    assert_eq!(
        refusal(&scene.command(&fake.base(), &[]).output().unwrap()),
        format!(
            "siteconf: the files that came are not the branch: their digest begins with \
             2859ad0eb87ca22df4204a2e0cf37ae87ef68575, its head is {commit}; the folder stays as it is\n"
        )
    );
    assert!(!scene.dir().exists());
}

#[test]
fn a_branch_is_taken_whatever_no_save_or_import_would_take_any_more() {
    let scene = Scene::new();
    // Letters that nobody sees, and what a data folder is known by.
    let paths = ["FORMAT", "pri\u{ad}ces", "secrets", "store.db"];
    let tree: Vec<_> = paths.iter().map(|path| entry(path, "100644")).collect();
    let lines = paths.map(|path| format!("{path}|6|b1946ac92492d2347c6235b4d2611184\n"));
    let digest = siteconf::base::digest::sha256(lines.concat().as_bytes()).to_string();
    let fake = serving(json!(tree), &digest[..40], true);
    said(&scene.command(&fake.base(), &[]).output().unwrap(), 0, "");
    let expected: Vec<_> = paths.iter().map(|path| (*path, "hello\n")).collect();
    assert_eq!(read(&scene.dir()), files(&expected));
}

#[test]
fn gitlab_is_taken_without_the_digest_and_that_is_told() {
    let scene = Scene::new();
    let tree = json!([
        {"id": HELLO, "name": "conf", "type": "tree", "path": "conf", "mode": "040000"},
        entry("conf/a", "100644"),
        entry("conf/run", "100755"),
        entry("conf/link", "120000"),
        entry("module", "160000"),
    ]);
    let fake = serving(tree, &"cd".repeat(20), false);
    let base = format!("{}/api/v4", fake.base());
    let mut expected = files(&[("conf/a", "hello\n")]);
    expected.insert("conf/run".to_owned(), (b"hello\n".to_vec(), true));
    let told = format!(
        "left out, as links and submodules are: \"conf/link\", \"module\"\n\
         the commit ids of this server are no digests: each file that came is proven by its own id, {} \
         as a whole is not\n",
        scene.dir().display()
    );
    said(&scene.command(&base, &[]).output().unwrap(), 0, &told);
    assert_eq!(read(&scene.dir()), expected);
    let asked = fake.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.target.starts_with("/api/v4/projects/")),
        "{asked:?}"
    );
    assert_eq!(
        said(&scene.command(&base, &[]).output().unwrap(), 0, ""),
        ""
    );
    assert_eq!(fake.asked().len(), 1);
}

#[test]
fn hostile_paths_end_the_pull_and_nothing_is_written() {
    let scene = Scene::new();
    for path in [
        "../out",
        "/etc/x",
        "a/../../out",
        ".git/config",
        "a\\b",
        "a\u{1b}[2J",
    ] {
        let tree = json!([entry("fine", "100644"), entry(path, "100644")]);
        let fake = serving(tree, &"ab".repeat(20), false);
        let told = refusal(&scene.command(&fake.base(), &[]).output().unwrap());
        assert!(
            told.starts_with("siteconf: the server's tree is refused: "),
            "{told}"
        );
        assert!(!told.contains('\u{1b}'), "{told:?}");
        assert!(!scene.dir().exists() && !scene.at("out").exists());
    }
}

#[test]
fn pages_are_followed_on_the_named_host_alone() {
    let scene = Scene::new();
    let elsewhere = Fake::new(|_| Answer::refusal("500 Internal Server Error", "no"));
    let evil = elsewhere.base();
    let fake = Fake::new(move |asked: &Asked| {
        let target = asked.target.as_str();
        if target.contains("/branches/") {
            return Answer::json(
                &json!({"commit": {"id": "cd".repeat(20), "short_id": "cdcdcdcd"}}),
            );
        }
        if target.contains("/tree?") {
            let link = |query: &str| format!("Link: <{evil}/tree?{query}>; rel=\"next\"");
            let page = |path: &str| Answer::json(&json!([entry(path, "100644")]));
            return if !target.contains("per_page=100") {
                page("a").with(&link("page=2"))
            } else if target.contains("page_token=2") {
                page("c")
            } else if target.contains("page_token=1") {
                page("b").with(&link("ref=x&per_page=100&page_token=2"))
            } else {
                page("a").with(&link("ref=x&per_page=100&page_token=1"))
            };
        }
        if target.contains("/raw?") {
            return Answer::bytes(b"hello\n");
        }
        Answer::refusal("404 Not Found", "404 Not Found")
    });
    let output = scene.command(&fake.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let hello = "hello\n";
    assert_eq!(
        read(&scene.dir()),
        files(&[("a", hello), ("b", hello), ("c", hello)])
    );
    // Not even the redirect of a whole host is followed.
    let address = elsewhere.base();
    let redirects = Fake::new(move |_| Answer {
        status: "302 Found",
        headers: vec![format!("Location: {address}/x")],
        ..Answer::default()
    });
    let told = refusal(&scene.command(&redirects.base(), &[]).output().unwrap());
    assert!(told.contains("sends us on to http://127.0.0.1:"), "{told}");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn refusals_are_told_in_words() {
    let scene = Scene::new();
    let told = |status: &'static str, message: &'static str, flags: &[&str]| {
        let fake = Fake::new(move |_| Answer::refusal(status, message).with("Retry-After: 99"));
        let host = fake.base().replace("http://", "");
        let mut command = plain(&["pull", &fake.base(), "acme/shop.erp", "main"]);
        command.arg(scene.dir()).args(flags);
        refusal(&command.output().unwrap()).replace(&host, "HOST")
    };
    let file = scene.at("token").display().to_string();
    let with = ["--token-file", file.as_str()];
    assert_eq!(
        told("401 Unauthorized", "401 Unauthorized", &[]),
        "siteconf: HOST wants a token: name its file with --token-file, or set SITECONF_TOKEN\n"
    );
    assert_eq!(
        told("401 Unauthorized", "401 Unauthorized", &with),
        "siteconf: HOST refuses the token: 401 Unauthorized. It is unknown, has expired or was revoked, or \
         its account is disabled\n"
    );
    let fingerprint = told("401 Unauthorized", "FINGERPRINT_MISMATCH", &with);
    assert!(fingerprint.contains("--reset-fingerprint"), "{fingerprint}");
    let forbidden = told("403 Forbidden", "403 Forbidden", &with);
    assert!(
        forbidden.contains("does not give the project to this token"),
        "{forbidden}"
    );
    assert_eq!(
        told("404 Not Found", "404 Branch Not Found", &with),
        "siteconf: HOST does not have it: 404 Branch Not Found. Is there a project \"acme/shop.erp\" with \
         a branch \"main\"?\n"
    );
    assert_eq!(
        told("429 Too Many Requests", "slowly", &with),
        "siteconf: HOST cannot serve us now: 429 slowly; it wants to be asked again in 99 s\n"
    );
    // The status that a text begins with is not told twice.
    assert_eq!(
        told("413 Payload Too Large", "413 Payload Too Large", &with),
        "siteconf: HOST refuses the request: 413 Payload Too Large\n"
    );
    let html = told("200 OK", "<html>", &with);
    assert!(
        html.contains("does not answer as the Read API does"),
        "{html}"
    );
}

#[test]
fn what_passes_is_waited_for() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1")]);
    scene.save(&branch);
    // Every first attempt of a request is refused.
    let count = Arc::new(AtomicU32::new(0));
    let (known, tree) = (Arc::clone(&count), json!([entry("a", "100644")]));
    let fake = Fake::new(move |asked: &Asked| {
        if known.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Answer::refusal("503 Service Unavailable", "later").with("Retry-After: 0");
        }
        let target = asked.target.as_str();
        if target.contains("/branches/") {
            return Answer::json(
                &json!({"commit": {"id": "cd".repeat(20), "short_id": "cdcdcdcd"}}),
            );
        }
        if target.contains("/tree?") {
            return Answer::json(&tree);
        }
        if target.contains("/raw?") {
            return Answer::bytes(b"hello\n");
        }
        Answer::refusal("404 Not Found", "404 Not Found")
    });
    let output = scene.command(&fake.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(read(&scene.dir()), files(&[("a", "hello\n")]));
    // Nobody there at all: told after a few attempts, and the folder stays.
    drop(fake);
    // A port that is given to nobody who asks for any.
    let nobody = "http://127.0.0.1:1";
    let told = refusal(&scene.command(nobody, &[]).output().unwrap());
    assert!(told.contains("Connection refused"), "{told}");
    assert_eq!(read(&scene.dir()), files(&[("a", "hello\n")]));
}

#[test]
fn a_large_file_that_breaks_off_is_gone_on_with() {
    let mut scene = Scene::new();
    let large: Vec<u8> = (0..4_000_000_u32).flat_map(u32::to_be_bytes).collect();
    let branch = Files::from([("large".to_owned(), (large, false))]);
    scene.save(&branch);
    let relay = Relay::to(&scene.daemon.base());
    relay.break_after(&[3 << 20]);
    let output = scene.command(&relay.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(read(&scene.dir()), branch);
    // 16 MB in pieces of 3 MiB: five and a rest, had any been fetched twice there would be more.
    let requests = relay.requests();
    let raw = requests.iter().filter(|line| line.contains("/raw?"));
    assert_eq!(raw.count(), 6, "{requests:?}");
}

#[test]
fn what_has_come_of_a_large_file_outlives_a_refusal() {
    let scene = Scene::new();
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_be_bytes).collect();
    let id = git_id(&large);
    let (sent, requests) = (large.clone(), AtomicU32::new(0));
    let fake = Fake::new(move |asked: &Asked| {
        if asked.target.contains("/tree?") {
            let entry =
                json!({"id": id, "name": "x", "type": "blob", "path": "x", "mode": "100644"});
            return Answer::json(&json!([entry]));
        }
        if !asked.target.contains("/raw?") {
            return branch(asked, 'c');
        }
        if requests.fetch_add(1, Ordering::Relaxed) == 1 {
            return Answer::refusal("503 Service Unavailable", "later").with("Retry-After: 0");
        }
        match begin(asked) {
            0 => Answer::bytes(&sent),
            from => Answer {
                status: "206 Partial Content",
                ..Answer::bytes(&sent[from..])
            }
            .with(&format!(
                "Content-Range: bytes {from}-{}/{}",
                sent.len() - 1,
                sent.len()
            )),
        }
    });
    // The first connection breaks, no other one does.
    let relay = Relay::to(&fake.base());
    relay.break_after(&[3 << 20, 0]);
    let output = scene.command(&relay.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let branch = Files::from([("x".to_owned(), (large, false))]);
    assert_eq!(read(&scene.dir()), branch);
    let asked = fake.asked();
    let raw = asked.iter().filter(|asked| asked.target.contains("/raw?"));
    let begins: Vec<_> = raw.map(begin).collect();
    let [0, refused, again] = begins[..] else {
        panic!("{begins:?}");
    };
    assert!(refused > 2 << 20 && again == refused, "{begins:?}");
}

/// From which byte on a file is asked for.
fn begin(asked: &Asked) -> usize {
    let mut headers = asked.headers.iter();
    let range = headers.find_map(|header| header.strip_prefix("range: bytes="));
    range.map_or(0, |range| range.trim_end_matches('-').parse().unwrap())
}

#[test]
fn an_instance_is_made_once_and_sent_with_each_request() {
    let scene = Scene::new();
    let fake = serving(json!([entry("a", "100644")]), &"cd".repeat(20), false);
    for _ in 0..2 {
        scene.command(&fake.base(), &[]).output().unwrap();
    }
    let id = fs::read_to_string(scene.side().join("instance")).unwrap();
    assert_eq!(id.len(), 32);
    let token = fs::read_to_string(scene.at("token")).unwrap();
    let asked = fake.asked();
    assert!(asked.len() >= 5);
    for asked in asked {
        assert!(
            asked.headers.contains(&format!("x-instance-id: {id}")),
            "{asked:?}"
        );
        assert!(
            asked.headers.contains(&format!("private-token: {token}")),
            "{asked:?}"
        );
    }
}

#[test]
fn what_an_interrupted_pull_left_is_taken_where_it_is_whole() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    said(&scene.pull(&[]), 0, "");
    let part = scene.side().join(format!("fetched/{HELLO}.part"));
    // One that is whole, and one that is longer than the file, for which a server has no range.
    for (text, requests) in [("hello\n", 0), ("hello\nhello\n", 2)] {
        scene.save(&files(&[("a", text.split_at(1).0)]));
        said(&scene.pull(&[]), 0, "");
        fs::create_dir(part.parent().unwrap()).unwrap();
        fs::write(&part, text).unwrap();
        scene.save(&files(&[("a", "hello\n")]));
        let relay = Relay::to(&scene.daemon.base());
        said(&scene.command(&relay.base(), &[]).output().unwrap(), 0, "");
        assert_eq!(read(&scene.dir()), files(&[("a", "hello\n")]));
        let raw = relay.requests();
        let raw = raw.iter().filter(|line| line.contains("/raw?")).count();
        assert_eq!(raw, requests, "{text}");
        scene.save(&files(&[("a", "2")]));
        said(&scene.pull(&[]), 0, "");
    }
}

#[test]
fn pages_that_do_not_end_are_refused() {
    let scene = Scene::new();
    let told = |page: fn(u32) -> serde_json::Value| {
        let pages = AtomicU32::new(0);
        let fake = Fake::new(move |asked: &Asked| {
            if asked.target.contains("/branches/") {
                let commit = json!({"id": "cd".repeat(20), "short_id": "cdcdcdcd"});
                return Answer::json(&json!({ "commit": commit }));
            }
            let number = pages.fetch_add(1, Ordering::Relaxed);
            let next = format!("Link: <http://x/tree?page_token={number}>; rel=\"next\"");
            Answer::json(&page(number)).with(&next)
        });
        let told = refusal(&scene.command(&fake.base(), &[]).output().unwrap());
        (told, fake.asked().len())
    };
    let refused = "siteconf: the server's tree is refused: its pages have next to nothing in them, and do \
                   not end\n";
    // The head, the tree, the first page of it.
    assert_eq!(told(|_| json!([])), (refused.to_owned(), 3));
    // One entry each: more than a thousand such pages are too many.
    let (said, requests) = told(|number| json!([entry(&format!("f{number}"), "100644")]));
    assert_eq!(said, refused);
    assert_eq!(requests, 2 + 1112);
    assert!(!scene.dir().exists());
}

#[test]
fn what_has_no_room_is_not_begun() {
    let mut scene = Scene::new();
    let Some(disk) = Mounted::disk(2) else {
        return;
    };
    let dir = disk.path().join("here");
    let pull = |scene: &Scene| {
        let mut command = plain(&["pull", &scene.daemon.base(), "acme/shop.erp", "main"]);
        command.arg(&dir).arg("--token-file").arg(scene.at("token"));
        command.output().unwrap()
    };
    let small = files(&[("a", "1")]);
    scene.save(&small);
    said(&pull(&scene), 0, "");
    let mut large = small.clone();
    large.insert("large".to_owned(), (vec![b'x'; 3 << 20], false));
    scene.save(&large);
    let told = refusal(&pull(&scene));
    let free = told
        .strip_prefix("siteconf: what is new in the branch has more than the ")
        .and_then(|rest| {
            rest.strip_suffix(
                " bytes that it may take of the disk; the folder stays as it is until there is room\n",
            )
        });
    let free: u64 = free.unwrap_or_else(|| panic!("{told}")).parse().unwrap();
    assert!((1 << 20..2 << 20).contains(&free), "{free}");
    assert_eq!(read(&dir), small);
}
