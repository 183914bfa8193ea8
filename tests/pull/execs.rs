//! What a pull runs after a change.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};

use rustix::process::Signal;

use crate::fake::{Fake, branch};
use crate::running::{Running, next};
use crate::scene::{Scene, files, refusal, said};

#[test]
fn a_command_runs_after_a_change_until_it_ends_well() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1"), ("b", "1")]));
    said(&scene.pull(&[]), 0, "");
    scene.save(&files(&[("a", "2"), ("b", "1"), ("c d", "2")]));
    let told = scene.at("told");
    let (works, told_path) = (scene.at("works"), told.display());
    let command = format!(
        "echo $SITECONF_CHANGED $SITECONF_DIR ${{#SITECONF_COMMIT}} $SITECONF_TOKEN >> {told_path}; \
         cat $SITECONF_CHANGES >> {told_path}; test -e {}",
        works.display()
    );
    let exec = ["--exec", command.as_str()];
    let dir = scene.dir().display().to_string();
    // The change is there all the same.
    let output = scene.pull(&exec);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "siteconf: --exec: it ended with exit status: 1; the next pull runs it again\n"
    );
    assert_eq!(fs::read_to_string(scene.dir().join("a")).unwrap(), "2");
    // The next pull runs it again, though nothing is new; what is new by then is told, too.
    refusal(&scene.pull(&exec));
    // Also where there is nobody to be asked, which is told.
    let nobody = scene.command("http://127.0.0.1:1", &exec).output().unwrap();
    let said_then = refusal(&nobody);
    assert!(said_then.contains("Connection refused"), "{said_then}");
    assert!(
        said_then.ends_with("; the next pull runs it again\n"),
        "{said_then}"
    );
    scene.save(&files(&[("a", "2"), ("c d", "3")]));
    fs::write(&works, "").unwrap();
    said(&scene.pull(&exec), 0, "");
    said(&scene.pull(&exec), 0, "");
    let first = format!("2 {dir} 40\nchanged a\nadded c d\n");
    let second = format!("3 {dir} 40\nchanged a\nremoved b\nchanged c d\n");
    assert_eq!(
        fs::read_to_string(&told).unwrap(),
        format!("{first}{first}{first}{second}")
    );
    // One that hangs is ended.
    scene.save(&files(&[("a", "4")]));
    assert_eq!(
        {
            let output = scene.pull(&["--exec", "sleep 1000", "--exec-timeout", "1"]);
            String::from_utf8(output.stderr).unwrap()
        },
        "siteconf: --exec: it took longer than 1 s (--exec-timeout); the next pull runs it again\n"
    );
}

#[test]
fn under_a_watch_the_command_is_repeated_after_a_while() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    let count = scene.at("count");
    // It fails the first two times.
    let command = format!("echo x >> {0}; test $(wc -l < {0}) -ge 3", count.display());
    let base = scene.daemon.base();
    let watch = ["--watch", "--interval", "1", "--exec", &command];
    let mut watch = Running::start(scene.command(&base, &watch));
    assert!(watch.line().contains(": 1 added, "));
    for _ in 0..2 {
        let complaint = watch.complaint();
        assert!(
            complaint
                .starts_with("siteconf: --exec: it ended with exit status: 1; trouble since 20"),
            "{complaint}"
        );
    }
    assert!(
        watch
            .line()
            .starts_with("--exec goes well again, after trouble since 20")
    );
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\nx\nx\n");
}

/// True if a process runs: one that ended and nobody has waited for does not.
fn runs(id: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(id).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let mut scene = Scene::new();
    let started = scene.at("started");
    // The shell ends when it is told to, what it started does not.
    let command = format!(
        "(trap '' TERM; while :; do sleep 1; done) & echo $! > {}; wait",
        started.display()
    );
    scene.save(&files(&[("a", "1")]));
    let flags = ["--exec", command.as_str(), "--exec-timeout", "1"];
    // A shell that got no time within the second has told nothing; the next pull runs the command again.
    let id = (0..10).find_map(|_| {
        fs::write(&started, "").unwrap();
        let output = scene.pull(&flags);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let id = fs::read_to_string(&started).unwrap();
        id.ends_with('\n').then_some(id)
    });
    let id = id.expect("the command told whom it started");
    assert!(!runs(id.trim()), "{id}");
}

#[test]
fn what_a_command_prints_is_passed_on_up_to_a_limit() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    let output = scene.pull(&["--exec", "echo one; echo two >&2"]);
    let out = said(&output, 0, "one\ntwo\n");
    assert!(
        out.starts_with("main is at ") && out.lines().count() == 1,
        "{out}"
    );
    scene.save(&files(&[("a", "2")]));
    let output = scene.pull(&["--exec", "yes | head -c 10000000"]);
    let left_out = "\nsiteconf: what else the command of --exec prints is left out\n";
    said(&output, 0, &format!("{}{left_out}", "y\n".repeat(32 << 10)));
}

#[test]
fn a_command_that_fails_keeps_no_change_waiting() {
    let scene = Scene::new();
    let runs = scene.at("runs");
    let command = format!("echo x >> {}; exit 3", runs.display());
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let is_new = AtomicBool::new(false);
    let fake = Fake::new(move |asked| {
        if !asked.target.contains("/branches/") {
            let is_of_new = asked.target.contains("dddd");
            return branch(asked, if is_of_new { 'd' } else { 'c' });
        }
        // The command does not run while the head is asked for.
        let count = fs::read_to_string(&runs).map_or(0, |text| text.lines().count());
        if count >= 3 {
            is_new.store(true, Ordering::Relaxed);
            // The test may have heard enough.
            let _heard = tell.lock().unwrap().send(count);
        }
        let is_new = is_new.load(Ordering::Relaxed);
        branch(asked, if is_new { 'd' } else { 'c' })
    });
    let flags = ["--watch", "--interval", "1", "--exec", &command];
    let watch = Running::start(scene.command(&fake.base(), &flags));
    // Without a change it would be run again after four seconds, when the head was asked for once more.
    let (before, after) = (next(&told), next(&told));
    assert!(after > before, "{before} runs, then {after}");
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
}

#[test]
fn a_command_runs_whoever_hears_of_the_change() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let ran = scene.at("ran");
    let command = format!("touch {}", ran.display());
    let mut pull = scene.command(&scene.daemon.base(), &["--exec", &command]);
    let output = pull.stdout(closed).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(ran.exists());
    // One that fails is told all the same.
    scene.save(&files(&[("a", "2")]));
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let mut pull = scene.command(&scene.daemon.base(), &["--exec", "false"]);
    let output = pull.stdout(closed).output().unwrap();
    assert!(refusal(&output).contains("it ended with exit status: 1"));
}
