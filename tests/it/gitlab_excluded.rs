//! What is left out of archives: contract section 5.

use serde_json::json;

use crate::gitlab_archive::{expected, fetch, project, unpack};
use crate::harness::{Daemon, Project};

#[test]
fn excluded_paths_are_left_out_with_what_is_below_them() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let not_in_dir = |path: &str| !path.starts_with("dir/");
    let not_in_sub = |path: &str| !path.starts_with("dir/sub/");
    for (query, wanted) in [
        ("?exclude_paths=dir", &not_in_dir as &dyn Fn(&str) -> bool),
        ("?exclude_paths=dir/sub/c,dir/,dir/sub", &not_in_dir),
        (
            "?exclude_paths=dir/sub/,%20a.txt,none,,large.bin",
            &|path: &str| not_in_sub(path) && path != "a.txt" && path != "large.bin",
        ),
        ("?path=dir&exclude_paths=dir/sub,a.txt", &|path: &str| {
            path.starts_with("dir/") && path != "dir/" && not_in_sub(path)
        }),
        ("?exclude_paths=di,dir/s,DIR,*", &|_: &str| true),
        ("?path=a.txt&exclude_paths=dir", &|path: &str| {
            path == "a.txt"
        }),
    ] {
        for extension in [".tar", ".tar.gz", ".zip"] {
            let answer = fetch(&reader, &project, &format!("{extension}{query}"));
            let found = unpack(extension, &answer.body);
            assert!(
                found == expected(wanted),
                "{extension}{query}: {:?}",
                found.keys()
            );
        }
    }
    // A tag is of what is in the archive.
    let tag = |query: &str| {
        let answer = fetch(&reader, &project, &format!(".zip{query}"));
        answer.header("ETag").unwrap().to_owned()
    };
    assert_eq!(tag("?exclude_paths=none"), tag(""));
    assert_eq!(tag("?exclude_paths=dir,dir/sub"), tag("?exclude_paths=dir"));
    assert_ne!(tag("?exclude_paths=dir"), tag(""));
    assert_ne!(tag("?exclude_paths=dir"), tag("?exclude_paths=dir/sub"));
    for query in [
        "?exclude_paths=dir,../x",
        "?path=dir/sub&exclude_paths=dir",
        "?path=a.txt&exclude_paths=a.txt",
    ] {
        let target = project.read(&format!("/archive.zip{query}"));
        reader.get(&target).assert_refused(400);
    }
}

#[test]
fn what_is_left_out_may_be_more_than_is_looked_up_at_once() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    let many: Vec<_> = (0..600).map(|number| format!("m/{number:03}")).collect();
    let paths = many.iter().map(String::as_str).chain(["a", "z"]);
    let actions: Vec<_> = paths
        .map(|path| json!({ "action": "create", "file_path": path, "content": "x" }))
        .collect();
    let batch = project.on("main", "/batch");
    let saved = project.user.post(&batch, &json!({ "actions": actions }));
    saved.expect_status(200);
    for (excluded, length) in [("m".to_owned(), 3), (many.join(","), 4)] {
        for extension in [".tar", ".zip"] {
            let query = format!("{extension}?exclude_paths={excluded}");
            let found = unpack(extension, &fetch(&reader, &project, &query).body);
            assert_eq!(found.len(), length, "{extension}: {:?}", found.keys());
            for name in ["/a", "/z"] {
                assert!(found.keys().any(|path| path.ends_with(name)), "{name}");
            }
        }
    }
}
