//! A pull that goes on for ever, what it runs, and how signals end it.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::fake::{Answer, Asked, Fake};
use crate::relay::Relay;
use crate::scene::{Scene, files, read, refusal, said};

/// A pull that runs, and what it says.
struct Running {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            out: BufReader::new(child.stdout.take().unwrap()).lines(),
            err: BufReader::new(child.stderr.take().unwrap()).lines(),
            child,
        }
    }

    /// The next line of its results; it comes when there is one.
    fn line(&mut self) -> String {
        self.out.next().expect("it goes on").unwrap()
    }

    /// The next line of its complaints.
    fn complaint(&mut self) -> String {
        self.err.next().expect("it goes on").unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended, and what it had still to say.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let rest: Vec<_> = self.err.by_ref().map(Result::unwrap).collect();
        (code, rest.join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_watch_follows_the_branch_through_a_restart_of_the_service() {
    let mut scene = Scene::new();
    let first = files(&[("a", "1")]);
    scene.save(&first);
    let relay = Relay::to(&scene.daemon.base());
    let watch = scene.command(&relay.base(), &["--watch", "--interval", "1"]);
    let mut watch = Running::start(watch);
    let line = watch.line();
    assert!(
        line.ends_with(": 1 added, 0 changed, 0 removed, 1 byte fetched"),
        "{line}"
    );
    assert_eq!(read(&scene.dir()), first);
    let second = files(&[("a", "2"), ("b", "2")]);
    scene.save(&second);
    let line = watch.line();
    assert!(line.contains(": 1 added, 1 changed, 0 removed, "), "{line}");
    assert_eq!(read(&scene.dir()), second);
    // What somebody changed here comes again, though the branch has not moved.
    fs::write(scene.dir().join("a"), "mine").unwrap();
    let line = watch.line();
    assert!(line.contains(": 0 added, 0 changed, 0 removed, "), "{line}");
    assert_eq!(read(&scene.dir()), second);
    assert!(watch.complaint().ends_with("as in the branch again: \"a\""));

    scene.daemon.kill();
    let complaint = watch.complaint();
    assert!(
        complaint.contains("; the folder stays at ") && complaint.contains("; trouble since 20")
    );
    assert_eq!(read(&scene.dir()), second);
    scene.daemon.kill_and_restart();
    relay.lead_to(&scene.daemon.base());
    let third = files(&[("c", "3")]);
    scene.save(&third);
    // It may have met the service before the save.
    let mut lines = vec![watch.line(), watch.line()];
    lines.sort();
    assert!(
        lines[0].starts_with("all is well again, after trouble since 20"),
        "{lines:?}"
    );
    assert!(
        lines[1].contains(": 1 added, 0 changed, 2 removed, "),
        "{lines:?}"
    );
    assert_eq!(read(&scene.dir()), third);
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
    assert_eq!(read(&scene.dir()), third);
}

/// The head, the tree and the file of a branch whose commit is 40 times this digit.
fn branch(asked: &Asked, digit: char) -> Answer {
    let commit = digit.to_string().repeat(40);
    let target = asked.target.as_str();
    if target.contains("/branches/") {
        let commit = json!({"id": commit, "short_id": commit[..8]});
        return Answer::json(&json!({"commit": commit})).with(&format!("ETag: \"{digit}\""));
    }
    if target.contains("/tree?") {
        let id = "ce013625030ba8dba906f756967f9e9ca394464a";
        return Answer::json(&json!([
            {"id": id, "name": "x", "type": "blob", "path": format!("of-{digit}"), "mode": "100644"}
        ]));
    }
    if target.contains("/raw?") {
        return Answer::bytes(b"hello\n");
    }
    Answer::refusal("404 Not Found", "404 Not Found")
}

#[test]
fn a_watch_waits_where_the_server_can_and_says_what_it_knows() {
    let scene = Scene::new();
    // The third question is held until the test lets it go.
    let (free, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let questions = AtomicU32::new(0);
    let fake = Fake::new(move |asked| {
        if !asked.target.contains("/branches/") {
            let digit = if asked.target.contains("dddd") {
                'd'
            } else {
                'c'
            };
            return branch(asked, digit);
        }
        match questions.fetch_add(1, Ordering::Relaxed) {
            0 => branch(asked, 'c'),
            1 => {
                held.lock().unwrap().recv().unwrap();
                branch(asked, 'd')
            }
            _ => {
                let _ended = held.lock().unwrap().recv();
                Answer::refusal("304 Not Modified", "")
            }
        }
    });
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch"]));
    let line = watch.line();
    assert!(line.starts_with("main is at cccccccc: 1 added, "), "{line}");
    free.send(()).unwrap();
    let line = watch.line();
    assert!(
        line.starts_with("main is at dddddddd: 1 added, 0 changed, 1 removed, "),
        "{line}"
    );
    // An end is heard of while the server holds its answer, too.
    watch.signal(Signal::INT);
    let (code, rest) = watch.end();
    assert_eq!(code, Some(130), "{rest}");
    drop(free);
    let asked = fake.asked();
    let questions: Vec<_> = asked
        .iter()
        .filter(|asked| asked.target.contains("/branches/"))
        .collect();
    assert!(
        questions[0].target.ends_with("/branches/main"),
        "{questions:?}"
    );
    assert!(
        questions[1].target.ends_with("/branches/main?wait=30"),
        "{questions:?}"
    );
    let known = "if-none-match: \"c\"".to_owned();
    assert!(!questions[0].headers.contains(&known), "{questions:?}");
    assert!(questions[1].headers.contains(&known), "{questions:?}");
}

#[test]
fn a_server_that_cannot_wait_is_asked_by_the_interval() {
    let scene = Scene::new();
    let questions = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&questions);
    let fake = Fake::new(move |asked| {
        if asked.target.contains("/branches/") {
            // The fifth finds something new.
            let digit = if count.fetch_add(1, Ordering::Relaxed) < 4 {
                'c'
            } else {
                'd'
            };
            return branch(asked, digit);
        }
        branch(
            asked,
            if asked.target.contains("dddd") {
                'd'
            } else {
                'c'
            },
        )
    });
    let began = std::time::Instant::now();
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch", "--interval", "1"]));
    watch.line();
    watch.line();
    // Two pauses lie between the first two quick answers and the fifth.
    assert!(began.elapsed().as_secs() >= 2);
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
    assert_eq!(read(&scene.dir()), files(&[("of-d", "hello\n")]));
}

#[test]
fn a_signal_in_the_middle_of_a_transfer_leaves_nothing_half() {
    let scene = Scene::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (arrived, arrivals) = mpsc::channel();
        let (free, held) = mpsc::channel::<()>();
        let both = Mutex::new((arrived, held));
        let fake = Fake::new(move |asked| {
            if asked.target.contains("/raw?") {
                let both = both.lock().unwrap();
                both.0.send(()).unwrap();
                let _ended = both.1.recv();
            }
            branch(asked, 'c')
        });
        let pull = Running::start(scene.command(&fake.base(), &[]));
        arrivals.recv().unwrap();
        pull.signal(signal);
        let ended = pull.end();
        let said = "siteconf: interrupted; nothing half is left".to_owned();
        assert_eq!(ended, (Some(code), said));
        assert!(!scene.dir().exists());
        drop(free);
    }
}

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
        "siteconf: --exec: it ended with exit status: 1; it is run again\n"
    );
    assert_eq!(fs::read_to_string(scene.dir().join("a")).unwrap(), "2");
    // The next pull runs it again, though nothing is new; what is new by then is told, too.
    refusal(&scene.pull(&exec));
    scene.save(&files(&[("a", "2"), ("c d", "3")]));
    fs::write(&works, "").unwrap();
    said(&scene.pull(&exec), 0, "");
    said(&scene.pull(&exec), 0, "");
    let first = format!("2 {dir} 40\nchanged a\nadded c d\n");
    let second = format!("3 {dir} 40\nchanged a\nremoved b\nchanged c d\n");
    assert_eq!(
        fs::read_to_string(&told).unwrap(),
        format!("{first}{first}{second}")
    );
    // One that hangs is ended.
    scene.save(&files(&[("a", "4")]));
    assert_eq!(
        {
            let output = scene.pull(&["--exec", "sleep 1000", "--exec-timeout", "1"]);
            String::from_utf8(output.stderr).unwrap()
        },
        "siteconf: --exec: it took longer than 1 s (--exec-timeout); it is run again\n"
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
            complaint.contains("--exec: it ended with exit status: 1; "),
            "{complaint}"
        );
    }
    assert!(watch.line().starts_with("all is well again, "));
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\nx\nx\n");
}
