//! What was in the folder and was not brought: no pull removes it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};

use serde_json::json;

use crate::fake::{Answer, Fake, branch, git_id};
use crate::mounted::Mounted;
use crate::running::{Running, next};
use crate::scene::{Scene, files, lay, read, refusal, said};

#[test]
fn own_files_stay_from_state_to_state() {
    let mut scene = Scene::new();
    lay(
        &scene.dir(),
        &files(&[("mine.txt", "mine"), ("conf/mine", "too")]),
    );
    fs::create_dir_all(scene.dir().join("empty/folder")).unwrap();
    symlink("/nowhere", scene.dir().join("link")).unwrap();
    fs::set_permissions(scene.dir().join("conf"), fs::Permissions::from_mode(0o700)).unwrap();
    let inode = fs::metadata(scene.dir().join("mine.txt")).unwrap().ino();
    let mut log = fs::File::create(scene.dir().join("log")).unwrap();
    for round in 0..4 {
        let text = format!("{round}");
        scene.save(&files(&[("a", &text), ("conf/b", "1")]));
        said(&scene.pull(&[]), 0, "");
        // Who writes into a file goes on writing into it.
        write!(log, "{round}").unwrap();
        fs::write(scene.dir().join(format!("made{round}")), "x").unwrap();
    }
    scene.save(&files(&[("a", "last")]));
    said(&scene.pull(&[]), 0, "");
    assert_eq!(
        fs::read_link(scene.dir().join("link")).unwrap().to_str(),
        Some("/nowhere")
    );
    assert!(scene.dir().join("empty/folder").is_dir());
    fs::remove_file(scene.dir().join("link")).unwrap();
    fs::remove_dir_all(scene.dir().join("empty")).unwrap();
    assert_eq!(
        read(&scene.dir()),
        files(&[
            ("a", "last"),
            ("conf/mine", "too"),
            ("log", "0123"),
            ("made0", "x"),
            ("made1", "x"),
            ("made2", "x"),
            ("made3", "x"),
            ("mine.txt", "mine"),
        ])
    );
    assert_eq!(
        fs::metadata(scene.dir().join("mine.txt")).unwrap().ino(),
        inode
    );
    assert_eq!(
        fs::metadata(scene.dir().join("conf")).unwrap().mode() & 0o777,
        0o700
    );
}

#[test]
fn own_files_in_the_way_are_told_and_left_alone() {
    let mut scene = Scene::new();
    for (mine, branch) in [
        (("a", "mine"), ("a", "theirs")),
        (("a/b", "mine"), ("a", "theirs")),
        (("a", "mine"), ("a/b", "theirs")),
    ] {
        lay(&scene.dir(), &files(&[mine]));
        scene.save(&files(&[branch]));
        let said = refusal(&scene.pull(&[]));
        assert_eq!(
            said,
            format!(
                "siteconf: {} holds what was not brought, and stands where the branch has something \
                 else: \"{}\"; move it elsewhere\n",
                scene.dir().display(),
                mine.0
            )
        );
        assert_eq!(read(&scene.dir()), files(&[mine]));
        fs::remove_dir_all(scene.dir()).unwrap();
    }
    // Nor is an empty folder below one that the branch had.
    scene.save(&files(&[("a/b", "theirs")]));
    said(&scene.pull(&[]), 0, "");
    fs::create_dir(scene.dir().join("a/cache")).unwrap();
    scene.save(&files(&[("a", "theirs")]));
    let told = refusal(&scene.pull(&[]));
    assert!(
        told.contains(" something else: \"a/cache\"; move it elsewhere"),
        "{told}"
    );
    fs::remove_dir_all(scene.dir()).unwrap();
    // A link in the place of a folder is not followed.
    let elsewhere = scene.at("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir(scene.dir()).unwrap();
    symlink(&elsewhere, scene.dir().join("conf")).unwrap();
    scene.save(&files(&[("conf/a", "1")]));
    assert!(refusal(&scene.pull(&[])).contains(": \"conf\"; move it"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_folder_that_holds_the_branch_already_is_taken_over() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1"), ("b/c", "2")]);
    lay(
        &scene.dir(),
        &files(&[("a", "1"), ("b/c", "2"), ("mine", "3")]),
    );
    scene.save(&branch);
    let out = said(&scene.pull(&[]), 0, "");
    assert!(
        out.ends_with(": 0 added, 0 changed, 0 removed, 0 bytes fetched\n"),
        "{out}"
    );
    scene.save(&files(&[("a", "4")]));
    said(&scene.pull(&[]), 0, "");
    assert_eq!(read(&scene.dir()), files(&[("a", "4"), ("mine", "3")]));
}

#[test]
fn what_is_made_in_the_old_folder_finds_its_way_into_the_new_one() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    said(&scene.pull(&[]), 0, "");
    // Somebody who holds the old folder open goes on seeing it, and makes a file in it.
    let held = fs::File::open(scene.dir()).unwrap();
    scene.save(&files(&[("a", "2")]));
    said(&scene.pull(&[]), 0, "");
    let through = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    assert_eq!(fs::read_to_string(format!("{through}/a")).unwrap(), "1");
    fs::write(format!("{through}/late"), "late").unwrap();
    scene.save(&files(&[("a", "3")]));
    said(&scene.pull(&[]), 0, "");
    assert_eq!(read(&scene.dir()), files(&[("a", "3"), ("late", "late")]));
}

#[test]
fn what_is_replaced_in_the_old_folder_is_never_lost() {
    let mut scene = Scene::new();
    lay(
        &scene.dir(),
        &files(&[("mine", "before"), ("both", "before")]),
    );
    scene.save(&files(&[("a", "1")]));
    said(&scene.pull(&[]), 0, "");
    // As one does it who saves a file under another name and renames it, just before the exchange.
    let held = fs::File::open(scene.dir()).unwrap();
    scene.save(&files(&[("a", "2"), ("new", "theirs")]));
    said(&scene.pull(&[]), 0, "");
    let old = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    let replace = |folder: &str, name: &str, text: &str| {
        fs::write(format!("{folder}/{name}.tmp"), text).unwrap();
        fs::rename(format!("{folder}/{name}.tmp"), format!("{folder}/{name}")).unwrap();
    };
    replace(&old, "mine", "after");
    replace(&old, "both", "old");
    replace(scene.dir().to_str().unwrap(), "both", "present");
    // The name of a file of the branch, of which the old state knows nothing.
    fs::write(format!("{old}/new"), "mine, too").unwrap();
    // A folder there, and a link to elsewhere here.
    let elsewhere = scene.at("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, scene.dir().join("link")).unwrap();
    fs::create_dir(format!("{old}/link")).unwrap();
    fs::write(format!("{old}/link/late"), "late").unwrap();
    scene.save(&files(&[("a", "3"), ("new", "theirs")]));
    let kept = scene.side().join("kept");
    let aside = [("both", 1), ("link/late", 2), ("new", 3)].map(|(path, number)| {
        let place = kept.join(number.to_string());
        let name = path.strip_prefix("link/").unwrap_or(path);
        format!(
            "{} was made while the folder was replaced, and another has its name: it lies in {}\n",
            scene.dir().join(path).display(),
            place.join(name).display()
        )
    });
    said(&scene.pull(&[]), 0, &aside.concat());
    let expected = files(&[
        ("1/both", "old"),
        ("2/late", "late"),
        ("3/new", "mine, too"),
    ]);
    assert_eq!(read(&kept), expected);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(scene.dir().join("link")).unwrap();
    let expected = files(&[
        ("a", "3"),
        ("both", "present"),
        ("mine", "after"),
        ("new", "theirs"),
    ]);
    assert_eq!(read(&scene.dir()), expected);
    // The next one goes on as ever.
    scene.save(&files(&[("a", "4")]));
    said(&scene.pull(&[]), 0, "");
}

#[test]
fn a_mount_in_the_folder_is_told_and_left_alone() {
    let mut scene = Scene::new();
    let elsewhere = scene.at("elsewhere");
    lay(&elsewhere, &files(&[("theirs", "x")]));
    scene.save(&files(&[("a", "1"), ("b/c", "1")]));
    said(&scene.pull(&[]), 0, "");
    let told = |path: &Path| {
        format!(
            "siteconf: {} is a mount, or lies in one: it would be lost when the folder is replaced; \
             unmount it, or name another folder\n",
            path.display()
        )
    };
    scene.save(&files(&[("a", "2"), ("b/c", "1")]));
    fs::create_dir(scene.dir().join("mine")).unwrap();
    // Of a folder of nobody, of one in which files of the branch lie, and of one of these.
    for (from, at) in [
        (elsewhere.clone(), "mine"),
        (elsewhere.clone(), "b"),
        (elsewhere.join("theirs"), "a"),
    ] {
        let at = scene.dir().join(at);
        let Some(_mounted) = Mounted::again(&from, &at) else {
            return;
        };
        assert_eq!(refusal(&scene.pull(&[])), told(&at));
    }
    fs::remove_dir(scene.dir().join("mine")).unwrap();
    said(&scene.pull(&[]), 0, "");
    // One that came into the old state is not walked through when that is removed.
    let Some(mounted) = Mounted::again(&elsewhere, &scene.side().join("old/b")) else {
        return;
    };
    scene.save(&files(&[("a", "3")]));
    let output = scene.pull(&[]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains(" may hold files that are nowhere else, and lies in "),
        "{told}"
    );
    assert_eq!(read(&scene.dir()), files(&[("a", "3")]));
    assert_eq!(read(&elsewhere), files(&[("theirs", "x")]));
    drop(mounted);
    let _gone = Command::new("umount")
        .arg(scene.side().join("kept/1/old/b"))
        .status();
}

#[test]
fn what_has_come_is_not_asked_for_again_where_the_folder_changes_meanwhile() {
    let scene = Scene::new();
    let (arrived, arrivals) = mpsc::channel();
    let (free, held) = mpsc::channel::<()>();
    let both = Mutex::new((arrived, held));
    let questions = AtomicU32::new(0);
    let fake = Fake::new(move |asked| {
        let target = asked.target.as_str();
        let is_second = target.contains("dddd");
        if target.contains("/branches/") {
            let is_first = questions.fetch_add(1, Ordering::Relaxed) == 0;
            return branch(asked, if is_first { 'c' } else { 'd' });
        }
        let (a, b) = if is_second {
            ("new a", "new b")
        } else {
            ("old a", "old b")
        };
        if target.contains("/tree?") {
            let files = [("a", a), ("b", b), ("z", "z")].map(|(path, text)| {
                let id = git_id(text.as_bytes());
                json!({"id": id, "name": path, "type": "blob", "path": path, "mode": "100644"})
            });
            return Answer::json(&json!(files));
        }
        let name = target.split("/files/").nth(1);
        match name.and_then(|name| name.chars().next()) {
            Some('a') => Answer::bytes(a.as_bytes()),
            Some('b') => {
                if is_second {
                    let both = both.lock().unwrap();
                    both.0.send(()).unwrap();
                    let _freed = both.1.recv();
                }
                Answer::bytes(b.as_bytes())
            }
            Some('z') => Answer::bytes(b"z"),
            _ => Answer::refusal("404 Not Found", "404 Not Found"),
        }
    });
    let output = scene.command(&fake.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fake.asked();
    let pull = Running::start(scene.command(&fake.base(), &[]));
    next(&arrivals);
    fs::write(scene.dir().join("z"), "mine").unwrap();
    drop(free);
    let (code, told) = pull.end();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("in the branch again: \"z\""), "{told}");
    assert_eq!(
        read(&scene.dir()),
        files(&[("a", "new a"), ("b", "new b"), ("z", "z")])
    );
    let asked = fake.asked();
    let mut names: Vec<_> = asked
        .iter()
        .filter_map(|asked| asked.target.split("/files/").nth(1)?.chars().next())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ['a', 'b', 'z']);
}

/// Copies the folder and the one beside it into a folder of their own.
fn copied(scene: &Scene, how: &[&str], name: &str) -> PathBuf {
    let place = scene.at(name);
    fs::create_dir(&place).unwrap();
    let copied = Command::new("cp")
        .args(how)
        .args([&scene.dir(), &scene.side(), &place])
        .status();
    assert!(copied.unwrap().success());
    place.join("here")
}

#[test]
fn own_files_of_a_folder_that_was_copied_or_restored_are_no_new_ones() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    said(&scene.pull(&[]), 0, "");
    lay(
        &scene.dir(),
        &files(&[("mine", "mine"), ("mine2", "mine"), ("own/b", "mine")]),
    );
    scene.save(&files(&[("a", "2")]));
    said(&scene.pull(&[]), 0, "");
    let linked = copied(&scene, &["-a"], "linked");
    let kept = "--preserve=mode,timestamps,ownership";
    let unlinked = copied(&scene, &["-r", kept], "unlinked");
    let retimed = copied(&scene, &["-r"], "retimed");
    scene.save(&files(&[("a", "3")]));
    for dir in [&linked, &unlinked, &retimed] {
        fs::remove_file(dir.join("mine2")).unwrap();
        fs::write(dir.join("new"), "edited").unwrap();
        fs::rename(dir.join("new"), dir.join("mine")).unwrap();
        let pull = scene.command_in(dir, &scene.daemon.base(), &[]).output();
        said(&pull.unwrap(), 0, "");
        let expected = files(&[("a", "3"), ("mine", "edited"), ("own/b", "mine")]);
        assert_eq!(read(dir), expected);
        let side = dir.with_file_name(".here.siteconf-pull");
        assert!(!side.join("kept").exists());
    }
    // The folder alone comes from a backup, or is gone.
    for is_restored in [true, false] {
        fs::remove_dir_all(scene.dir()).unwrap();
        let mut expected = files(&[("a", "3")]);
        if is_restored {
            fs::rename(&linked, scene.dir()).unwrap();
            expected = read(&scene.dir());
        }
        said(&scene.pull(&[]), 0, "");
        assert_eq!(read(&scene.dir()), expected);
        assert!(!scene.side().join("kept").exists());
    }
}

#[test]
fn what_is_made_in_the_old_folder_stays_where_the_new_one_is_copied() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    said(&scene.pull(&[]), 0, "");
    lay(&scene.dir(), &files(&[("mine", "mine")]));
    scene.save(&files(&[("a", "2")]));
    said(&scene.pull(&[]), 0, "");
    fs::write(scene.side().join("old/late"), "late").unwrap();
    let copy = copied(&scene, &["-r"], "copy");
    scene.save(&files(&[("a", "3")]));
    let pull = scene.command_in(&copy, &scene.daemon.base(), &[]).output();
    said(&pull.unwrap(), 0, "");
    assert_eq!(
        read(&copy),
        files(&[("a", "3"), ("late", "late"), ("mine", "mine")])
    );
}
