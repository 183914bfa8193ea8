//! Pages of a tree and of branches: contract section 5, as each kind of client walks them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::gitlab_walk::{
    by_links, by_next_page, by_total_pages, elements, link, listed, target_of, until_short,
};
use crate::harness::{Daemon, Project, READ_V4, User, paths, segment};

/// How many files the large tree has.
const FILES: usize = 1234;

/// A project with 1,234 files in folders, and the paths of all its entries in the order of contract
/// section 5.
fn large(daemon: &Daemon) -> (Project, User, Vec<String>) {
    let user = daemon.user("alice", &[]);
    let project = Project::with_main(&user, "acme/shop");
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<String> = (0..FILES)
        .map(|number| match number % 5 {
            0 => format!("корень {number}.xml"),
            1 => format!("a/{number:04}"),
            2 => format!("a/б/{number}"),
            3 => format!("a-b/{}/{number}", number % 40),
            _ => format!("z/x/y/.{number} +%"),
        })
        .collect();
    for path in &files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, path.to_str().unwrap()).unwrap();
    }
    let from = folder.path().to_str().unwrap();
    daemon.run(&["import", &project.id, "main", from], "");

    // A folder stands where its first file stands.
    files.sort();
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    for file in &files {
        for (at, _) in file.match_indices('/') {
            if seen.insert(file[..at].to_owned()) {
                entries.push(file[..at].to_owned());
            }
        }
        entries.push(file.clone());
    }
    let reader = daemon.reader(&project);
    (project, reader, entries)
}

#[track_caller]
fn assert_paths(found: &[Value], expected: &[String]) {
    let found = Value::Array(found.to_vec());
    assert!(paths(&found) == expected, "other entries, or another order");
}

#[test]
fn every_way_of_walking_a_large_tree_finds_all_of_it() {
    let daemon = Daemon::start();
    let (project, reader, entries) = large(&daemon);
    let tree = project.read("/tree?recursive=true");
    assert_paths(&elements(&reader.get(&tree)), &entries);
    let plain = reader.get(&format!("{tree}&pagination=none"));
    assert_eq!(plain.header("X-Total"), None);
    assert_eq!(plain.header("Link"), None);
    assert_paths(&elements(&plain), &entries);

    for per_page in [100, 96, 7] {
        let paged = format!("{tree}&per_page={per_page}");
        assert_paths(&by_links(&reader, &paged), &entries);
        assert_paths(&by_next_page(&reader, &paged), &entries);
        assert_paths(&by_total_pages(&reader, &paged), &entries);
        assert_paths(&until_short(&reader, &tree, per_page), &entries);
        let keyset = format!("{paged}&pagination=keyset");
        assert_paths(&by_links(&reader, &keyset), &entries);
    }
    assert_paths(
        &by_links(&reader, &format!("{tree}&pagination=keyset")),
        &entries,
    );
    assert_paths(&by_links(&reader, &format!("{tree}&page=1")), &entries);
}

#[test]
fn the_pages_of_one_folder_make_the_folder() {
    let daemon = Daemon::start();
    let (project, reader, _) = large(&daemon);
    for path in ["", "&path=a", "&path=a-b", "&path=z/x/y"] {
        let tree = project.read(&format!("/tree?{path}"));
        let whole = elements(&reader.get(&tree));
        for style in ["", "&pagination=keyset"] {
            let paged = format!("{tree}&per_page=9{style}");
            assert!(by_links(&reader, &paged) == whole, "{paged}");
        }
        let (recursive, listed) = (format!("{tree}&recursive=1"), "&per_page=50");
        let whole = elements(&reader.get(&recursive));
        assert!(
            by_links(&reader, &format!("{recursive}{listed}")) == whole,
            "{path}"
        );
    }
}

#[test]
fn parameters_in_a_form_stay_with_the_walk() {
    let daemon = Daemon::start();
    let (project, reader, entries) = large(&daemon);
    let below: Vec<_> = entries
        .iter()
        .filter(|path| path.starts_with("a/"))
        .cloned()
        .collect();
    let mut target = project.read("/tree?per_page=100&pagination=keyset");
    let mut found = Vec::new();
    loop {
        // As the Rust crate does it: the body goes out again with every page.
        let request = reader.request("GET", &target);
        let answer = request.form("path=a&recursive=true&ref=main").send();
        found.extend(elements(&answer));
        let Some(next) = link(&answer, "next") else {
            break;
        };
        for pair in ["path=a", "recursive=true", "ref=main", "pagination=keyset"] {
            assert!(next.contains(pair), "{next}");
        }
        target = target_of(&reader, &next);
    }
    assert_paths(&found, &below);
}

#[test]
fn a_client_may_repeat_its_parameters_beside_those_of_the_link() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for name in ["side", "test", "x/y", "z"] {
        project.add_branch(name);
        project.save("main", "a", name);
    }
    // As python-gitlab 2.4 to 3.7 walks: its own arguments are appended to every link.
    for (list, own) in [
        ("/branches", "per_page=2"),
        ("/tree", "per_page=2&pagination=keyset"),
        ("/tree", "per_page=2&ref=main"),
        ("/commits", "per_page=2&ref_name=main"),
    ] {
        let mut target = project.read(&format!("{list}?{own}"));
        let mut found = Vec::new();
        while found.len() < 100 {
            let answer = reader.get(&target);
            found.extend(elements(&answer));
            let Some(next) = link(&answer, "next") else {
                break;
            };
            assert_eq!(next.matches("per_page=").count(), 1, "{next}");
            target = format!("{}&{own}", target_of(&reader, &next));
        }
        let whole = reader.get(&project.read(&format!("{list}?per_page=100&ref_name=main")));
        assert!(found.len() > 2, "{list}: more than a page");
        assert_eq!(found, elements(&whole), "{list}?{own}");
    }
    let last = reader.get(&project.read("/tree?per_page=x&per_page=3&per_page=1"));
    assert_eq!(elements(&last).len(), 1, "the last value counts");
}

#[test]
fn a_body_that_is_no_form_says_nothing() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    let target = project.read("/tree?path=");
    let plain = reader.get(&target).expect_status(200);
    let part = "--x\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\nnone\r\n--x--\r\n";
    for (media_type, body) in [
        ("application/json", "{\"path\":\"none\"}"),
        ("application/json", ""),
        ("multipart/form-data; boundary=x", part),
        ("text/plain", "path=none"),
    ] {
        let request = reader.request("GET", &target);
        let request = request
            .header("Content-Type", media_type)
            .body(body.as_bytes());
        request.send().assert_bytes(200, &plain.body);
    }
    let head = reader
        .request("GET", &target)
        .header("Transfer-Encoding", "chunked");
    let mut connection = daemon.connect();
    connection.send(&[&head.to_bytes()[..], b"0\r\n\r\n"].concat());
    connection.answer().assert_bytes(200, &plain.body);
}

/// A project with a few files, and somebody who reads it.
fn small(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let file = |path: &str| json!({ "action": "create", "file_path": path, "content": path });
    let actions: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().map(file).collect();
    let target = project.on("main", "/batch");
    let batch = json!({ "actions": actions });
    project.user.post(&target, &batch).expect_status(200);
    let reader = daemon.reader(&project);
    (project, reader)
}

#[test]
fn numbered_pages_have_gitlabs_headers() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for (query, expected, relations) in [
        (
            "per_page=2",
            ["1", "2", "", "2", "5", "3"],
            "next first last",
        ),
        (
            "per_page=2&page=2",
            ["2", "2", "1", "3", "5", "3"],
            "prev next first last",
        ),
        (
            "page=3&per_page=2",
            ["3", "2", "2", "", "5", "3"],
            "prev first last",
        ),
        (
            "page=4&per_page=2",
            ["4", "2", "", "", "5", "3"],
            "first last",
        ),
        ("page=1", ["1", "20", "", "", "5", "1"], "first last"),
        (
            "pagination=legacy",
            ["1", "20", "", "", "5", "1"],
            "first last",
        ),
        (
            "page=0&per_page=1000",
            ["1", "100", "", "", "5", "1"],
            "first last",
        ),
        (
            "page=99999999999999999999",
            ["9223372036854775807", "20", "", "", "5", "1"],
            "first last",
        ),
        ("", ["1", "20", "", "", "5", "1"], ""),
    ] {
        let answer = reader.get(&project.read(&format!("/tree?{query}")));
        let names = [
            "Page",
            "Per-Page",
            "Prev-Page",
            "Next-Page",
            "Total",
            "Total-Pages",
        ];
        let found = names.map(|name| answer.header(&format!("X-{name}")).expect("present"));
        assert_eq!(found, expected, "{query}");
        let all = ["prev", "next", "first", "last"];
        let found: Vec<_> = all
            .into_iter()
            .filter(|relation| link(&answer, relation).is_some())
            .collect();
        assert_eq!(found.join(" "), relations, "{query}");
    }
    let past = reader.get(&project.read("/tree?page=4&per_page=2"));
    past.assert_json(200, &json!([]));
    let empty = listed(&reader, &project.read("/branches?search=none&page=1"));
    empty.assert_json(200, &json!([]));
    assert_eq!(empty.header("X-Total"), Some("0"));
    assert_eq!(empty.header("X-Total-Pages"), Some("1"));
}

#[test]
fn a_list_that_nobody_paged_is_whole() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for number in 0..30 {
        project.add_branch(&format!("b{number:02}"));
    }
    let answer = reader.get(&project.read("/branches"));
    assert_eq!(elements(&answer).len(), 31);
    assert_eq!(answer.header("X-Total"), Some("31"));
    assert_eq!(answer.header("X-Total-Pages"), Some("1"));
    assert_eq!(answer.header("X-Next-Page"), Some(""));
    assert_eq!(answer.header("Link"), None);
}

#[test]
fn links_keep_the_mount_and_every_parameter_but_a_token() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    let id = segment(&project.id);
    let secret = "0123456789abcdef".repeat(4);
    let target = format!(
        "{READ_V4}/projects/{id}/repository/tree?ref=main&x=%2C%3B+%22%3C&empty=&per_page=2&page=2\
         &private_token=abc&access_token=d&job_token=e&other={secret}&ref[]=a"
    );
    let answer = reader.get(&target).expect_status(200);
    let next = link(&answer, "next").unwrap();
    assert_eq!(
        target_of(&reader, &next),
        format!(
            "{READ_V4}/projects/{id}/repository/tree?ref=main&x=%2C%3B%20%22%3C&empty=&ref%5B%5D=a\
             &page=3&per_page=2"
        )
    );
    // The path in the spelling of the request, but for what clients split the header at.
    let odd = format!("/site-builder/api//erp-config/projects/{id}/repository/tree/?per_page=4");
    let next = link(&reader.get(&odd), "next").unwrap();
    assert_eq!(
        target_of(&reader, &next),
        odd.replace("?per_page=4", "?page=2&per_page=4")
    );
    let odd = project.read("/branches;a,b?per_page=4");
    reader.get(&odd).assert_error(404, "404 Not Found");
}

#[test]
fn a_walk_by_places_shows_the_state_it_began_with() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    let target = project.read("/tree?pagination=keyset&per_page=2");
    let first = reader.get(&target);
    assert_eq!(paths(&first.json()), ["a", "b"]);
    assert_eq!(first.header("X-Total"), None);
    project.save("main", "aa", "new");
    project
        .user
        .delete(&project.file("main", "c"))
        .expect_status(200);
    let rest = by_links(&reader, &target_of(&reader, &link(&first, "next").unwrap()));
    assert_eq!(paths(&Value::Array(rest)), ["c", "d", "e"]);
    let fresh = by_links(&reader, &target);
    assert_eq!(paths(&Value::Array(fresh)), ["a", "aa", "b", "d", "e"]);
}

#[test]
fn a_walk_ends_with_the_branch() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    let first = reader.get(&project.read("/tree?pagination=keyset&per_page=2"));
    let next = target_of(&reader, &link(&first, "next").unwrap());
    project
        .user
        .delete(&project.on("main", ""))
        .expect_status(204);
    project.add_branch("main");
    reader.get(&next).assert_error(404, "404 Tree Not Found");
}

#[test]
fn a_token_counts_only_as_it_was_given_and_where() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    let first = reader.get(&project.read("/tree?pagination=keyset&per_page=2"));
    let next = target_of(&reader, &link(&first, "next").unwrap());
    let token = next.split("page_token=").nth(1).unwrap();
    let refused = |target: &str| {
        let message = reader.get(target).assert_refused(400);
        assert!(message.starts_with("page_token is invalid"), "{message}");
    };
    for at in 0..token.len() {
        let other = if token.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let altered = format!("{}{other}{}", &token[..at], &token[at + 1..]);
        refused(&next.replace(token, &altered));
    }
    for other in ["", "main", "eyJmaWxlX25hbWUiOiJiIn0="] {
        let target = next.replace(token, other);
        if other.is_empty() {
            reader.get(&target).expect_status(200);
        } else {
            refused(&target);
        }
    }
    refused(&format!("{next}A"));
    refused(&format!("{next}&recursive=1"));
    refused(&format!("{next}&ref=main"));
    refused(&next.replace("/tree", "/branches"));
    let other = Project::with_main(&project.user, "acme/other");
    let elsewhere = next.replace(&segment(&project.id), &segment(&other.id));
    let message = daemon.reader(&other).get(&elsewhere).assert_refused(400);
    assert!(message.starts_with("page_token is invalid"), "{message}");
}

#[test]
fn branches_are_walked_in_every_order() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for number in 0..45 {
        let name = format!("feature/{}-{number}", number * 7 % 10);
        project.add_branch(&name);
        if number % 9 == 0 {
            project.save(&name, "a", name.as_bytes());
        }
    }
    for query in [
        "",
        "&search=FEATURE",
        "&search=feature/0-0",
        "&regex=-%5B0-9%5D%2B%24",
        "&sort=updated_asc",
        "&sort=updated_desc",
        "&sort=updated_desc&search=1",
    ] {
        let list = project.read(&format!("/branches?{query}"));
        let whole = elements(&listed(&reader, &list));
        for style in [
            "&page=1&per_page=4",
            "&pagination=keyset&per_page=4",
            "&page=1",
        ] {
            assert!(
                by_links(&reader, &format!("{list}{style}")) == whole,
                "{list}{style}"
            );
        }
        assert!(
            by_next_page(&reader, &format!("{list}&per_page=11")) == whole,
            "{list}"
        );
    }
}

#[test]
fn a_walk_of_branches_goes_on_where_it_was() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for name in ["b1", "b2", "b3", "b4"] {
        project.add_branch(name);
    }
    let first = reader.get(&project.read("/branches?pagination=keyset&per_page=2"));
    project.add_branch("a0");
    project.add_branch("b3a");
    project
        .user
        .delete(&project.on("b2", ""))
        .expect_status(204);
    let rest = by_links(&reader, &target_of(&reader, &link(&first, "next").unwrap()));
    let names: Vec<_> = rest.iter().map(|branch| branch["name"].clone()).collect();
    assert_eq!(names, ["b3", "b3a", "b4", "main"]);
}

#[test]
fn bad_parameters_are_named() {
    let daemon = Daemon::start();
    let (project, reader) = small(&daemon);
    for (rest, message) in [
        ("/tree?per_page=0", "per_page has a value not allowed"),
        ("/tree?per_page=abc", "per_page is invalid"),
        ("/tree?page=abc", "page is invalid"),
        ("/branches?page=1.0", "page is invalid"),
        (
            "/tree?pagination=pages",
            "pagination does not have a valid value",
        ),
        (
            "/tree?pagination=none",
            "pagination cannot be \"none\" unless \"recursive\" is true",
        ),
        (
            "/branches?pagination=none",
            "pagination does not have a valid value",
        ),
        ("/branches?sort=size", "sort does not have a valid value"),
        ("/branches?regex=(", "Regex is invalid"),
        (
            "/branches?regex=(a%7B1000%7D)%7B1000%7D",
            "Regex is invalid",
        ),
        ("/tree?recursive=maybe", "recursive is invalid"),
        ("/commits?since=yesterday", "since is invalid"),
        ("/compare?to=main", "from is missing"),
        ("/compare?from=main", "to is missing"),
        ("/branches/a..b", "The branch refname is invalid"),
    ] {
        reader.get(&project.read(rest)).assert_error(400, message);
    }
    let projects = "/site-builder/api/erp-config/projects";
    for (rest, message) in [
        ("?sort=up", "sort does not have a valid value"),
        ("?id_after=x", "id_after is invalid"),
        ("?archived=x", "archived is invalid"),
        ("?visibility=x", "visibility does not have a valid value"),
        ("?order_by=size", "order_by does not have a valid value"),
        ("?per_page=0", "per_page has a value not allowed"),
    ] {
        reader
            .get(&format!("{projects}{rest}"))
            .assert_error(400, message);
    }
}
