//! A pull that goes on for ever, and how signals end it.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::fake::{Answer, Asked, Fake, branch};
use crate::relay::Relay;
use crate::running::{Running, next};
use crate::scene::{Scene, files, read, refusal};

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
    let began = Instant::now();
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
        next(&arrivals);
        pull.signal(signal);
        let ended = pull.end();
        let said = "siteconf: interrupted; nothing half is left".to_owned();
        assert_eq!(ended, (Some(code), said));
        assert!(!scene.dir().exists());
        drop(free);
    }
}

/// A server whose branch is asked for by these numbers of questions, from 0 on, and whose trees and files
/// are those of the commit that is asked for.
fn serving(head: impl Fn(u32, &Asked) -> Answer + Send + Sync + 'static) -> Fake {
    let questions = AtomicU32::new(0);
    Fake::new(move |asked| {
        if asked.target.contains("/branches/") {
            return head(questions.fetch_add(1, Ordering::Relaxed), asked);
        }
        let is_second = asked.target.contains("dddd");
        branch(asked, if is_second { 'd' } else { 'c' })
    })
}

/// What is said of a server whose commits are no digests, once.
fn unproven(scene: &Scene) -> String {
    format!(
        "the commit ids of this server are no digests: each file that came is proven by its own id, {} as a \
         whole is not",
        scene.dir().display()
    )
}

/// The questions for the head, each with whether it was to be held.
fn questions(fake: &Fake) -> Vec<bool> {
    let asked = fake.asked();
    let questions = asked.iter().map(|asked| asked.target.as_str());
    questions
        .filter(|target| target.contains("/branches/"))
        .map(|target| target.ends_with("?wait=30"))
        .collect()
}

#[test]
fn two_services_behind_one_name_are_followed_without_haste() {
    let scene = Scene::new();
    let fake = serving(|number, asked| branch(asked, if number % 2 == 0 { 'c' } else { 'd' }));
    let began = Instant::now();
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch", "--json"]));
    for head in ["cccccccc", "dddddddd", "cccccccc", "dddddddd"] {
        let told: serde_json::Value = serde_json::from_str(&watch.line()).unwrap();
        assert_eq!(
            (&told["short_id"], &told["proven"]),
            (&head.into(), &false.into())
        );
    }
    // A second after each new head, then two after the first that came back.
    assert!(began.elapsed() >= Duration::from_secs(1 + 1 + 2));
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

/// Watches a server whose branch comes to a second state, and that does not hold its answers: why, is told once.
fn watch_unheld(scene: &Scene, fake: &Fake, why: &str) {
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch", "--interval", "1"]));
    assert!(watch.line().starts_with("main is at cccccccc: "));
    assert_eq!(watch.complaint(), unproven(scene));
    let host = fake.base().replace("http://", "");
    assert_eq!(
        watch.complaint(),
        format!(
            "siteconf: {host} {why}, while the server was to hold its answer; where that goes on it is asked \
             every 1 s"
        )
    );
    assert!(watch.line().starts_with("main is at dddddddd: "));
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

#[test]
fn where_held_questions_break_off_the_server_is_asked_by_the_interval() {
    let scene = Scene::new();
    // A proxy that gives up, or closes.
    let fake = serving(
        |number, asked| match (asked.target.contains("?wait="), number) {
            (true, ..3) => Answer::refusal("504 Gateway Timeout", "too slow"),
            (true, _) => Answer {
                breaks_off: true,
                ..Answer::default()
            },
            (false, ..20) => branch(asked, 'c'),
            (false, _) => branch(asked, 'd'),
        },
    );
    watch_unheld(&scene, &fake, "cannot serve us now: 504 too slow");
    let (plain, held) = (false, true);
    let mut expected = vec![plain, held, plain, held, plain, held, plain];
    expected.extend([plain; 10]);
    expected.extend([held, plain, plain, plain]);
    assert_eq!(questions(&fake)[..expected.len()], expected);
}

#[test]
fn a_server_that_puts_off_a_held_question_is_asked_when_it_wants_to_be() {
    let scene = Scene::new();
    let times = Arc::<Mutex<Vec<Instant>>>::default();
    let known = Arc::clone(&times);
    let fake = serving(move |number, asked| {
        known.lock().unwrap().push(Instant::now());
        match number {
            0 => branch(asked, 'c'),
            1 => Answer::refusal("429 Too Many Requests", "slowly").with("Retry-After: 2"),
            _ => branch(asked, 'd'),
        }
    });
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch"]));
    assert!(watch.line().starts_with("main is at cccccccc: "));
    assert_eq!(watch.complaint(), unproven(&scene));
    let told = watch.complaint();
    let expected =
        " cannot serve us now: 429 slowly; the folder stays at cccccccc; trouble since 20";
    assert!(told.contains(expected), "{told}");
    assert!(watch.line().starts_with("main is at dddddddd: "));
    assert!(watch.line().starts_with("all is well again, "));
    // From now on that is known.
    let told = watch.complaint();
    let expected = " cannot serve us now: 429 slowly, while the server was to hold its answer; where that goes on";
    assert!(told.contains(expected), "{told}");
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), String::new()));
    // It may have no room for those who wait, and room for others.
    assert_eq!(questions(&fake)[..3], [false, true, false]);
    let times = times.lock().unwrap();
    assert!(times[2] - times[1] >= Duration::from_secs(2));
}

#[test]
fn a_token_that_was_replaced_is_read_again() {
    let scene = Scene::new();
    let (arrived, arrivals) = mpsc::channel();
    let (free, held) = mpsc::channel::<()>();
    let both = Mutex::new((arrived, held));
    let has = |asked: &Asked, token: &str| {
        let line = format!("private-token: {token}");
        asked.headers.contains(&line)
    };
    fs::write(scene.at("token"), "first").unwrap();
    let fake = serving(move |number, asked| {
        if number > 0 {
            let both = both.lock().unwrap();
            both.0.send(()).unwrap();
            let _ended = both.1.recv();
        }
        match number {
            0 if has(asked, "first") => branch(asked, 'c'),
            // It is revoked while the question is held.
            1 if has(asked, "first") => Answer::refusal("401 Unauthorized", "401 Unauthorized"),
            2 if has(asked, "second") => branch(asked, 'd'),
            3 | 4 if has(asked, "second") => Answer {
                status: "304 Not Modified",
                ..Answer::default()
            },
            5 if has(asked, "third") => branch(asked, 'c'),
            _ => Answer::refusal("500 Internal Server Error", "another token"),
        }
    });
    let mut watch = Running::start(scene.command(&fake.base(), &["--watch", "--interval", "1"]));
    assert!(watch.line().starts_with("main is at cccccccc: "));
    next(&arrivals);
    fs::write(scene.at("token"), "second\n").unwrap();
    free.send(()).unwrap();
    free.send(()).unwrap();
    assert!(watch.line().starts_with("main is at dddddddd: "));
    // What is no token, as in the middle of a replacement, is not taken.
    next(&arrivals);
    next(&arrivals);
    fs::write(scene.at("token"), "").unwrap();
    free.send(()).unwrap();
    // A new one is, before the old one is refused.
    next(&arrivals);
    fs::write(scene.at("token"), "third").unwrap();
    free.send(()).unwrap();
    free.send(()).unwrap();
    assert!(watch.line().starts_with("main is at cccccccc: "));
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), unproven(&scene)));
    drop(free);
}

#[test]
fn a_watch_goes_on_where_nothing_can_be_told() {
    let mut scene = Scene::new();
    let first = files(&[("a", "1")]);
    scene.save(&first);
    let flags = ["--watch", "--interval", "1", "--exec", "echo ran >&2"];
    let watch = scene.command(&scene.daemon.base(), &flags);
    let mut unheard = Command::new("sh");
    unheard
        .args(["-c", "exec \"$@\" > /dev/full", "sh"])
        .arg(watch.get_program())
        .args(watch.get_args());
    let mut watch = Running::start(unheard);
    assert_eq!(watch.complaint(), "ran");
    assert_eq!(read(&scene.dir()), first);
    let second = files(&[("a", "2")]);
    scene.save(&second);
    assert_eq!(watch.complaint(), "ran");
    assert_eq!(read(&scene.dir()), second);
}

#[test]
fn where_held_questions_are_refused_the_server_is_asked_plainly() {
    let scene = Scene::new();
    // A proxy that knows no such question.
    let fake = serving(
        |number, asked| match (asked.target.contains("?wait="), number) {
            (true, _) => Answer::refusal("400 Bad Request", "no query"),
            (false, ..3) => branch(asked, 'c'),
            (false, _) => branch(asked, 'd'),
        },
    );
    watch_unheld(&scene, &fake, "refuses the request: 400 no query");
    let (plain, held) = (false, true);
    assert_eq!(questions(&fake)[..5], [plain, held, plain, held, plain]);
}

#[test]
fn a_token_that_is_refused_is_not_tried_twice() {
    let scene = Scene::new();
    for (status, told) in [
        ("401 Unauthorized", "refuses the token"),
        ("403 Forbidden", "does not give the project to this token"),
    ] {
        let (free, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let fake = serving(move |number, asked| {
            // The next attempt may come before this test looks; another try of this one would wait here, untold.
            if number > 1 {
                let _ended = held.lock().unwrap().recv();
            }
            match number {
                0 => branch(asked, 'c'),
                _ => Answer::refusal(status, status),
            }
        });
        let mut watch = Running::start(scene.command(&fake.base(), &["--watch"]));
        watch.line();
        let mut complaint = watch.complaint();
        if complaint == unproven(&scene) {
            complaint = watch.complaint();
        }
        assert!(complaint.contains(told), "{complaint}");
        assert_eq!(questions(&fake)[..2], [false, true]);
        drop(free);
    }
}

#[test]
fn a_watch_makes_the_folder_beside_the_folder_again() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    let flags = ["--watch", "--interval", "1"];
    let mut watch = Running::start(scene.command(&scene.daemon.base(), &flags));
    watch.line();
    let instance = fs::read(scene.side().join("instance")).unwrap();
    fs::remove_dir_all(scene.side()).unwrap();
    let second = files(&[("a", "2")]);
    scene.save(&second);
    let line = watch.line();
    assert!(line.contains(": 0 added, 1 changed, 0 removed, "), "{line}");
    assert_eq!(read(&scene.dir()), second);
    assert_eq!(fs::read(scene.side().join("instance")).unwrap(), instance);
    // It is for one pull at a time, as before.
    let told = refusal(&scene.pull(&[]));
    assert!(
        told.contains(" is being pulled by siteconf with process id "),
        "{told}"
    );
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), String::new()));
    // What it held is known.
    scene.save(&files(&[]));
    let told = scene.pulled(&[], &files(&[]));
    assert!(told.contains(": 0 added, 0 changed, 1 removed, "), "{told}");
}
