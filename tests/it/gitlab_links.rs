//! The address that links begin with: contract section 5.

use serde_json::json;

use crate::gitlab_walk::{by_links, link};
use crate::harness::{Daemon, Project, READ, User, paths, segment};

fn paged(daemon: &Daemon) -> (User, String) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.add_branch("test");
    let reader = daemon.reader(&project);
    (reader, project.read("/branches?per_page=1"))
}

const FORWARDED: [(&str, &str); 3] = [
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "conf.example"),
    ("X-Forwarded-Prefix", "/conf"),
];

#[track_caller]
fn base_of(reader: &User, target: &str, headers: &[(&str, &str)]) -> String {
    let request = reader.request("GET", target);
    let with = |request, (name, value): &(&str, &str)| {
        crate::harness::Request::header(request, name, value)
    };
    let answer = headers.iter().fold(request, with).send();
    let next = link(&answer, "next").expect("there is a next page");
    let (base, _) = next.split_once("/site-builder/").unwrap();
    // Whatever else leads somewhere leads to the same place.
    let web_url = answer.json()[0]["web_url"].as_str().unwrap().to_owned();
    assert!(web_url.starts_with(&format!("{base}{READ}/")), "{web_url}");
    base.to_owned()
}

#[test]
fn without_a_setting_it_is_the_host_of_the_request() {
    let daemon = Daemon::start();
    let (reader, target) = paged(&daemon);
    let own = format!("http://{}", daemon.address());
    assert_eq!(base_of(&reader, &target, &[]), own);
    assert_eq!(base_of(&reader, &target, &FORWARDED), own);
    assert_eq!(
        base_of(&reader, &target, &[("Forwarded", "host=evil;proto=https")]),
        own
    );
}

#[test]
fn a_trusted_proxy_tells_it() {
    let daemon = Daemon::start_with(&["--trusted-proxies", "192.0.2.7,127.0.0.0/8"]);
    let (reader, target) = paged(&daemon);
    let own = format!("http://{}", daemon.address());
    assert_eq!(base_of(&reader, &target, &[]), own);
    assert_eq!(
        base_of(&reader, &target, &FORWARDED),
        "https://conf.example/conf"
    );
    assert_eq!(
        base_of(
            &reader,
            &target,
            &[(
                "Forwarded",
                "for=192.0.2.1;proto=https;host=\"a.example:444\""
            )]
        ),
        "https://a.example:444"
    );
    assert_eq!(
        base_of(&reader, &target, &[("X-Forwarded-Host", "a b/\"<c")]),
        own
    );
    // What the client has sent itself the proxy passes on.
    let of_client = (
        "Forwarded",
        "for=192.0.2.7;proto=http;host=elsewhere.example",
    );
    let with = [&FORWARDED[..], &[of_client]].concat();
    assert_eq!(
        base_of(&reader, &target, &with),
        "https://conf.example/conf"
    );
    // An answer for one address is not kept for another.
    assert_eq!(base_of(&reader, &target, &[]), own);
}

#[test]
fn a_proxy_that_is_not_named_tells_nothing() {
    let daemon = Daemon::start_with(&["--trusted-proxies", "192.0.2.0/24"]);
    let (reader, target) = paged(&daemon);
    let own = format!("http://{}", daemon.address());
    assert_eq!(base_of(&reader, &target, &FORWARDED), own);
}

#[test]
fn the_setting_wins_over_everything() {
    let daemon = Daemon::start_with(&[
        "--external-url",
        "https://conf.example:8443",
        "--trusted-proxies",
        "127.0.0.1",
    ]);
    let (reader, target) = paged(&daemon);
    assert_eq!(
        base_of(&reader, &target, &FORWARDED),
        "https://conf.example:8443"
    );
}

#[test]
fn the_root_mount_links_to_itself() {
    let daemon = Daemon::start_with(&["--root-mount"]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.add_branch("test");
    let reader = daemon.reader(&project);
    let own = format!("http://{}/api/v4/projects/", daemon.address());
    let id = segment(&project.id);
    let target = format!("/api/v4/projects/{id}/repository/branches?per_page=1");
    let answer = reader.get(&target);
    let next = link(&answer, "next").unwrap();
    assert_eq!(
        next,
        format!("{own}{id}/repository/branches?page=2&per_page=1")
    );
    let project = reader.get(&format!("/api/v4/projects/{id}")).json();
    assert_eq!(project["web_url"], json!(format!("{own}{id}")));
}

#[test]
fn a_list_with_long_parameters_is_refused_for_its_links_repeat_them() {
    let daemon = Daemon::start();
    let (reader, target) = paged(&daemon);
    let with = |bytes| reader.get(&format!("{target}&x={}", "!".repeat(bytes)));
    with(6 << 10).assert_error(414, "the request target is too long");
    let answer = with(6000).expect_status(200);
    assert!(link(&answer, "next").unwrap().len() > 18_000);
}

#[test]
fn a_name_that_looks_like_a_token_stays_in_links() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let name = "0123456789abcdef".repeat(4);
    let file = |path: &str| json!({ "action": "create", "file_path": path, "content": path });
    let below = ["a", "b", "c"].map(|file| format!("{name}/{file}"));
    let others = ["x", "y", "z"].map(str::to_owned);
    let actions: Vec<_> = below.iter().chain(&others).map(|path| file(path)).collect();
    let batch = json!({ "actions": actions });
    let target = project.on("main", "/batch");
    project.user.post(&target, &batch).expect_status(200);
    project.save("main", "x", "other");
    project.save("main", &below[0], "other");
    let reader = daemon.reader(&project);
    for pages in ["", "&pagination=keyset"] {
        let target = project.read(&format!("/tree?path={name}&per_page=2{pages}"));
        assert_eq!(paths(&json!(by_links(&reader, &target))), below, "{pages}");
    }
    let titles = |query: &str| -> Vec<_> {
        let found = by_links(&reader, &project.read(query));
        let title = |commit: &serde_json::Value| commit["title"].as_str().unwrap().to_owned();
        found.iter().map(title).collect()
    };
    let own = titles(&format!("/commits?path={name}&per_page=1"));
    assert_eq!(own, titles(&format!("/commits?path={name}")));
    assert_eq!(own.len(), 2);
}
