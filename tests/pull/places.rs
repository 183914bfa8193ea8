//! Where the folder lies, what leads there, and who stands in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::process::Signal;

use crate::mounted::Mounted;
use crate::running::Running;
use crate::scene::{Scene, files, names, plain, read, refusal, said};

/// Who pulls stands in the state before by then.
#[test]
fn a_command_runs_in_the_present_state_where_the_pull_was_begun_in_the_folder() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "top 1"), ("b/a", "b 1")]));
    said(&scene.pull(&[]), 0, "");
    let told = format!(
        "the current folder is the state before; enter it again: cd {}\n",
        scene.dir().display()
    );
    for (within, branch, printed) in [
        ("", files(&[("a", "top 2"), ("b/a", "b 2")]), "top 2"),
        ("b", files(&[("a", "top 3"), ("b/a", "b 3")]), "b 3"),
        // Where that place is gone, in the folder itself.
        ("b", files(&[("a", "top 4")]), "top 4"),
    ] {
        scene.save(&branch);
        let mut pull = scene.command(&scene.daemon.base(), &["--exec", "cat a"]);
        pull.current_dir(scene.dir().join(within));
        said(&pull.output().unwrap(), 0, &format!("{told}{printed}"));
    }
}

#[test]
fn a_watch_says_that_its_link_leads_elsewhere_and_changes_neither_folder() {
    let mut scene = Scene::new();
    let [first, second] = ["1", "2"].map(|text| files(&[("a", text)]));
    scene.save(&first);
    let [one, two, renamed] = ["one", "two", "renamed"].map(|name| scene.at(name));
    let link = scene.dir();
    for folder in [&one, &two] {
        fs::create_dir(folder).unwrap();
    }
    symlink(&one, &link).unwrap();
    let mut watch = Running::start(scene.command(&scene.daemon.base(), &["--watch"]));
    watch.line();
    let point = |to: &Path| {
        symlink(to, &renamed).unwrap();
        fs::rename(&renamed, &link).unwrap();
    };
    point(&two);
    scene.save(&second);
    let told = watch.complaint();
    let expected = format!(
        "siteconf: {} leads elsewhere now; start the pull again; the folder stays at ",
        link.display()
    );
    assert!(told.starts_with(&expected), "{told}");
    assert_eq!(read(&one), first);
    assert!(names(&two).is_empty());
    // It goes on where the link leads there again.
    point(&one);
    let line = watch.line();
    assert!(line.contains(": 0 added, 1 changed, 0 removed, "), "{line}");
    assert_eq!(read(&one), second);
    assert!(watch.line().starts_with("all is well again, "));
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
}

#[test]
fn where_nothing_can_be_written_it_is_told_what_a_unit_needs() {
    let scene = Scene::new();
    let Some(disk) = Mounted::disk(1) else {
        return;
    };
    disk.make_read_only();
    let dir = disk.path().join("here");
    let pull = scene.command_in(&dir, &scene.daemon.base(), &[]).output();
    assert_eq!(
        refusal(&pull.unwrap()),
        format!(
            "siteconf: a folder is replaced as a whole, so its user must be able to write beside it: making {}: \
             Read-only file system (os error 30); where a unit of systemd makes it so, it needs a line \
             ReadWritePaths= with the folder that this lies in\n",
            disk.path().join(".here.siteconf-pull").display()
        )
    );
}

#[test]
fn the_units_tell_what_a_folder_elsewhere_needs() {
    for name in ["pull", "pull-once"] {
        let unit = said(&plain(&["example", name]).output().unwrap(), 0, "");
        assert!(unit.contains("\n#ReadWritePaths=/srv/shop\n"), "{unit}");
    }
}
