//! Symbolic links that an import follows: only to what lies in its folder, and never for ever.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use siteconf::repo::{Exclude, ImportFolder, ImportOptions, ImportStep, Result, Skip};
use siteconf::store::memory::MemoryStore;

use crate::fixture::{Scene, branch, path};
use crate::imports::folder;

/// Imports a folder into `main`, following its links; what was left out, each with the reason.
fn import(scene: &Scene, dir: &Path, options: &ImportOptions) -> Result<Vec<String>> {
    let source = ImportFolder::open(dir, None)?.following_links()?;
    let mut skipped = Vec::new();
    scene
        .project
        .import(&branch("main"), &source, options, |step| {
            if let ImportStep::Skipped { path, skip, reason } = step {
                let path = path.strip_prefix(dir).unwrap();
                skipped.push(format!("{} ({skip:?}): {reason}", path.display()));
            }
        })?;
    Ok(skipped)
}

#[test]
fn a_link_is_followed_to_what_lies_in_the_folder() {
    let scene = Scene::on(MemoryStore::default());
    let parent = folder(&[
        ("in/a.xml", "a"),
        ("in/conf/b.xml", "b"),
        ("in/conf/sub/c.xml", "c"),
        ("in/copy@", "a.xml"),
        ("in/conf/up@", "../a.xml"),
        ("in/conf/round about@", "./sub/../../in2/../../in/./a.xml"),
        ("in/in2/x", "x"),
        // Sorts behind "conf-", as a folder does.
        ("in/cong@", "conf"),
        ("in/cong-", "between"),
        ("in/twice@", "cong/up"),
        ("in/deep@", "cong/sub"),
    ]);
    let dir = parent.path().join("in");
    // Absolute ones, by the folder's name, and by another that leads to it.
    symlink(dir.join("conf/b.xml"), dir.join("absolute")).unwrap();
    let named = parent.path().join("named");
    symlink("in", &named).unwrap();
    symlink(named.join("a.xml"), dir.join("by its other name")).unwrap();
    let run = fs::Permissions::from_mode(0o755);
    fs::set_permissions(dir.join("a.xml"), run).unwrap();

    assert_eq!(
        import(&scene, &named, &ImportOptions::default()).unwrap(),
        [""; 0]
    );
    assert_eq!(
        scene.files(),
        [
            "a.xml=a",
            "absolute=b",
            "by its other name=a",
            "conf/b.xml=b",
            "conf/round about=a",
            "conf/sub/c.xml=c",
            "conf/up=a",
            "cong-=between",
            "cong/b.xml=b",
            "cong/round about=a",
            "cong/sub/c.xml=c",
            "cong/up=a",
            "copy=a",
            "deep/c.xml=c",
            "in2/x=x",
            "twice=a",
        ]
    );
    assert!(scene.head().file(&path("copy")).unwrap().is_executable());
}

#[test]
fn what_leads_nowhere_out_or_round_is_left_out_with_its_reason() {
    let scene = Scene::on(MemoryStore::default());
    let parent = folder(&[
        ("secret", "secret"),
        ("in/a", "a"),
        ("in/conf/b", "b"),
        ("in/0 out@", "../secret"),
        ("in/1 out@", "/etc/hostname"),
        ("in/2 over a link@", "1 out/x"),
        ("in/3 nothing@", "conf/none"),
        ("in/4 below a file@", "a/b"),
        ("in/5 itself@", "5 itself"),
        ("in/6 each other@", "7 each other"),
        ("in/7 each other@", "6 each other"),
        ("in/8 top@", "."),
        ("in/conf/9 up@", "../conf"),
        ("in/x/to y@", "../y"),
        ("in/y/to x@", "../x"),
        ("in/y/file", "y"),
        ("in/z parent@", ".."),
        ("in/z special@", "socket"),
    ]);
    let dir = parent.path().join("in");
    let _socket = UnixListener::bind(dir.join("socket")).unwrap();
    let link = |name: &str, what: &str| format!("{name} (Link): it is a symbolic link {what}");
    let own = "to a folder that it lies in";
    let out = "that leads out of the folder";
    let round = "that leads round in a circle";
    assert_eq!(
        import(&scene, &dir, &ImportOptions::default()).unwrap(),
        [
            link("0 out", out),
            link("1 out", out),
            link("2 over a link", out),
            link("3 nothing", "to nothing"),
            link("4 below a file", "to nothing"),
            link("5 itself", round),
            link("6 each other", round),
            link("7 each other", round),
            link("8 top", own),
            link("conf/9 up", own),
            "socket (Special): it is no regular file".to_owned(),
            link("x/to y/to x", own),
            link("y/to x/to y", own),
            link("z parent", out),
            "z special (Special): it is no regular file".to_owned(),
        ]
    );
    assert_eq!(
        scene.files(),
        ["a=a", "conf/b=b", "x/to y/file=y", "y/file=y"]
    );
}

#[test]
fn a_link_brings_nothing_in_that_is_excluded() {
    let scene = Scene::on(MemoryStore::default());
    let dir = folder(&[
        ("a", "a"),
        ("private/key", "key"),
        ("private/sub/key", "key"),
        ("file@", "private/key"),
        ("all@", "private"),
        ("some@", "private/sub"),
        ("over@", "file"),
    ]);
    let options = ImportOptions {
        exclude: Exclude::new(&["private".to_owned()]).unwrap(),
        ..ImportOptions::default()
    };
    let told = ["all", "file", "over", "some"]
        .map(|name| format!("{name} (Link): it is a symbolic link to what is excluded"));
    assert_eq!(import(&scene, dir.path(), &options).unwrap(), told);
    assert_eq!(scene.files(), ["a=a"]);
}

#[test]
fn what_is_excluded_in_a_folder_does_not_come_in_through_a_link_to_that_folder() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("up/conf/key", "of the branch");
    let dir = folder(&[
        ("conf/key", "key"),
        ("conf/open", "open"),
        ("conf/sub/keys/a", "key"),
        ("conf/sub/link@", "../open"),
        ("all@", "conf"),
        ("in/sub@", "../conf/sub"),
        ("over@", "in"),
        ("up/conf@", "../all"),
    ]);
    let patterns = ["conf/key", "conf/sub/keys", "conf/sub/link"].map(str::to_owned);
    let options = ImportOptions {
        exclude: Exclude::new(&patterns).unwrap(),
        mirror: true,
        ..ImportOptions::default()
    };
    let source = ImportFolder::open(dir.path(), None).unwrap();
    let source = source.following_links().unwrap();
    let head = scene.head();
    let preview = source.preview(Some(&head), &options, |_| ControlFlow::Continue(()));
    let preview = preview.unwrap().unwrap();

    let left_out = [
        "all/key",
        "all/sub/keys",
        "all/sub/link",
        "in/sub/keys",
        "in/sub/link",
        "over/sub/keys",
        "over/sub/link",
        "up/conf/key",
        "up/conf/sub/keys",
        "up/conf/sub/link",
    ];
    let told = left_out.map(|name| {
        format!("{name} (Link): a symbolic link leads to its folder, in which it is excluded")
    });
    assert_eq!(import(&scene, dir.path(), &options).unwrap(), told);
    // A mirror keeps what the branch has in the place of what was left out.
    let files = [
        "all/open=open",
        "conf/open=open",
        "up/conf/key=of the branch",
        "up/conf/open=open",
    ];
    assert_eq!(scene.files(), files);
    assert_eq!(
        (
            preview.files,
            preview.changes.added,
            preview.changes.removed
        ),
        (3, 3, 0)
    );
}

#[test]
fn links_that_are_many_times_what_is_there_are_refused() {
    let scene = Scene::on(MemoryStore::default());
    let folder = folder(&[("9/file", "x")]);
    for level in 0..9 {
        for name in ["a", "b"] {
            let at = folder.path().join(format!("{level}"));
            fs::create_dir_all(&at).unwrap();
            symlink(format!("../{}", level + 1), at.join(name)).unwrap();
        }
    }
    // From level n on 2^(9 - n) ways lead to the file.
    let options = |linked_max| ImportOptions {
        linked_max,
        ..ImportOptions::default()
    };
    let refused = import(&scene, folder.path(), &options(1000)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "the symbolic links in {} lead to folders with more than 1000 files and folders, each \
             counted as often as it is reached: leave some of the links out, or do not follow them",
            folder.path().display()
        )
    );
    assert_eq!(scene.files(), [""; 0]);
    import(&scene, folder.path(), &options(10_000)).unwrap();
    assert_eq!(scene.files().len(), 1023);
}

#[test]
fn what_is_swapped_for_a_link_leads_nowhere() {
    let scene = Scene::on(MemoryStore::default());
    let outside = folder(&[("secret", "secret")]);
    let folder = folder(&[("0", "first"), ("b/link@", "../z"), ("z", "ours")]);
    let source = ImportFolder::open(folder.path(), None).unwrap();
    let source = source.following_links().unwrap();
    let mut skipped = Vec::new();
    let mut meddled = false;
    scene
        .project
        .import(
            &branch("main"),
            &source,
            &ImportOptions::default(),
            |step| {
                if let ImportStep::Skipped { path, skip, .. } = step {
                    let path = path.strip_prefix(folder.path()).unwrap();
                    skipped.push((path.to_owned(), skip));
                }
                // By now it is known where the link leads.
                if !meddled
                    && matches!(step, ImportStep::Taken { path, .. } if path.as_str() == "0")
                {
                    fs::remove_file(folder.path().join("z")).unwrap();
                    symlink(outside.path().join("secret"), folder.path().join("z")).unwrap();
                    meddled = true;
                }
            },
        )
        .unwrap();
    assert_eq!(scene.files(), ["0=first"]);
    assert_eq!(
        skipped,
        [
            ("b/link".into(), Skip::Link),
            ("z".into(), Skip::Unreadable)
        ]
    );
}
