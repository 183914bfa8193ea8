//! What one account, one token or nobody at all can have the service hold in memory.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::json;

use crate::client::{Answer, Client};
use crate::daemon::{file, on_branch, read};
use crate::limited::{
    Crowd, alone, announce, assert_within, open_files, put, start, status, threads, with_project,
};

const MIB: usize = 1 << 20;
/// Whoever takes nothing is waited for longer than a test takes.
const PATIENT: [&str; 2] = ["--write-s-max", "600"];
/// Those of the network, of the requests that read, of large files, and some more.
const THREADS_MAX: usize = 200;

/// A line of an answer's head.
#[track_caller]
fn line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The answers to one request that so many clients send at once, again and again.
fn at_once(clients: usize, each: usize, client: &Client, target: &str) -> Vec<Answer> {
    thread::scope(|scope| {
        let clients = (0..clients).map(|_| {
            let mut client = client.another();
            scope.spawn(move || (0..each).map(|_| client.get(target)).collect::<Vec<_>>())
        });
        let clients: Vec<_> = clients.collect();
        let each = clients.into_iter().map(|client| client.join().unwrap());
        each.flatten().collect()
    })
}

/// Says that of these some were answered, and the others refused: at once, or when they have waited for 30 seconds for
/// those before them.
#[track_caller]
fn assert_some_are_answered(answers: &[Answer]) {
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    let is_legal = |status: &u16| matches!(status, 200 | 429 | 503);
    assert!(
        statuses.contains(&200) && statuses.iter().all(is_legal),
        "{statuses:?}"
    );
}

#[test]
fn bodies_of_logins() {
    let _alone = alone();
    open_files(2_000);
    let daemon = start(&[]);
    let crowd = Crowd::of(&daemon);
    let held: Vec<_> = (0..800)
        .map(|number| {
            let mut stream = crowd.connect(number);
            announce(&mut stream, "POST", "/user/login", "", MIB);
            // It may have been refused already.
            drop(stream.write_all(&vec![b' '; MIB - 500]));
            stream
        })
        .collect();
    for stream in held {
        assert_eq!(status(stream), 413);
    }
    assert_within(&daemon);
}

#[test]
fn bodies_of_batches_of_several_accounts() {
    let _alone = alone();
    let (daemon, admin) = with_project(&[]);
    let crowd = Crowd::of(&daemon);
    let length = 63 * MIB;
    let content = vec![b' '; length - 2];
    thread::scope(|scope| {
        for number in 0..20 {
            let (crowd, content, credential) = (&crowd, &content, &admin.credential);
            let mut stream = crowd.connect(number);
            scope.spawn(move || {
                announce(
                    &mut stream,
                    "POST",
                    &on_branch("/batch"),
                    credential,
                    length,
                );
                // It may have been refused already.
                if stream.write_all(content).is_ok() {
                    drop(stream.write_all(b"{}"));
                }
                let status = status(stream);
                assert!(matches!(status, 400 | 429), "{status}");
            });
        }
    });
    assert_within(&daemon);
}

#[test]
fn a_batch_of_millions_of_actions() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let action = r#"{"action":"delete","file_path":"a"},"#;
    let mut body = "{\"actions\":[".to_owned();
    while body.len() < 63 * MIB {
        body.push_str(action);
    }
    body.truncate(body.len() - 1);
    body.push_str("]}");
    let refused = admin.attempt(
        "POST",
        &on_branch("/batch"),
        "application/json",
        body.as_bytes(),
    );
    // What is left of the body may be refused before it was sent.
    if let Ok(refused) = refused {
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    assert_within(&daemon);
}

#[test]
fn slow_uploads() {
    let _alone = alone();
    open_files(2_000);
    let (daemon, admin) = with_project(&[]);
    let crowd = Crowd::of(&daemon);
    let held: Vec<_> = (0..800)
        .map(|number| {
            let mut stream = crowd.connect(number);
            let target = file(&format!("large/{number}.bin"));
            announce(&mut stream, "PUT", &target, &admin.credential, 100 * MIB);
            drop(stream.write_all(&vec![0; 3 * MIB / 2]));
            stream
        })
        .collect();
    assert_within(&daemon);
    drop(held);
}

#[test]
fn readers_that_take_nothing_of_large_files() {
    let _alone = alone();
    open_files(4_000);
    let (daemon, mut admin) = with_project(&[]);
    for number in 0..20_u8 {
        put(
            &mut admin,
            &format!("large/{number}.bin"),
            &vec![number; 20 * MIB],
        );
    }
    let reader = daemon.reader(&mut admin);
    let crowd = Crowd::of(&daemon);
    // Half of them as JSON, half as they are: from all over the files, so that what one reads is not what another does.
    let is_as_json = |number: usize| (number / 20).is_multiple_of(2);
    let mut held: Vec<_> = (0..2_000)
        .map(|number| {
            let mut stream = crowd.connect(number);
            let form = if is_as_json(number) { "" } else { "/raw" };
            let target = read(&format!(
                "/files/large%2F{}.bin{form}?ref=main",
                number % 20
            ));
            // Of JSON there is no range.
            let head = format!(
                "GET {target} HTTP/1.1\r\nHost: a\r\n{}Range: bytes={}-\r\n\r\n",
                reader.credential,
                number / 20 * (MIB / 8)
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    for (number, stream) in held.iter_mut().enumerate() {
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        let status = if is_as_json(number) { "200" } else { "206" };
        assert_eq!(line, *format!("HTTP/1.1 {status}").as_bytes());
    }
    // Who takes it after all gets it.
    let mut last = BufReader::new(held.pop().unwrap());
    while !line(&mut last).is_empty() {}
    let mut bytes = vec![0; MIB];
    last.read_exact(&mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 19));
    // Each keeps memory of what it has handled.
    let threads = threads(&daemon);
    assert!(threads < THREADS_MAX, "{threads}");
    assert_within(&daemon);
}

/// Connections of a client that asks for a target each and takes no more of the answers than their statuses.
fn unread(
    crowd: &Crowd,
    client: &Client,
    targets: impl Iterator<Item = String>,
) -> Vec<(u16, TcpStream)> {
    let targets = targets.enumerate();
    let held = targets.map(|(number, target)| {
        let mut stream = crowd.connect(number);
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: a\r\n{}\r\n",
            client.credential
        );
        stream.write_all(head.as_bytes()).unwrap();
        (status(stream.try_clone().unwrap()), stream)
    });
    held.collect()
}

/// Some of these got an answer, and no more: who asks is refused one more, and nobody else is.
#[track_caller]
fn assert_refused(held: &[(u16, TcpStream)], asks: &Client, other: &Client, target: &str) {
    let whole = held.iter().filter(|(status, _)| *status == 200).count();
    let refused = held.iter().filter(|(status, _)| *status == 429).count();
    assert!(whole > 0 && whole + refused == held.len(), "{whole} got it");
    let answer = asks.another().get(target);
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(
        answer.json(),
        json!({ "message": "too many bytes of answers at once; try again in 1 s" })
    );
    assert_eq!(other.another().get(target).status, 200);
}

#[test]
fn readers_that_take_nothing_of_trees() {
    let _alone = alone();
    open_files(2_000);
    let (daemon, mut admin) = with_project(&PATIENT);
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("f".repeat(250));
    std::fs::create_dir(&below).unwrap();
    for number in 0..200 {
        std::fs::write(below.join(format!("{number:0>200}.xml")), "").unwrap();
    }
    daemon.import(folder.path());
    let [reader, other] = [(); 2].map(|()| daemon.reader(&mut admin));
    // Of pages each address has its own: it is in their links.
    let tree = read("/tree?recursive=true&per_page=100&ref=main");
    let kept = reader.another().get(&tree);
    let crowd = Crowd::of(&daemon);
    let targets = (0..900).map(|number| format!("{tree}&x={number}"));
    let held = unread(&crowd, &reader, targets);
    assert_within(&daemon);
    assert_refused(&held, &reader, &other, &format!("{tree}&x=more"));
    // Who takes it after all gets it.
    let (_, first) = held.into_iter().next().unwrap();
    let mut first = BufReader::new(first);
    while !line(&mut first).is_empty() {}
    let mut body = vec![0; kept.body.len()];
    first.read_exact(&mut body).unwrap();
    assert_eq!(body, kept.body);
}

#[test]
fn many_readers_that_take_nothing_of_the_same_tree() {
    let _alone = alone();
    open_files(2_000);
    let (daemon, mut admin) = with_project(&[]);
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3_000 {
        std::fs::write(folder.path().join(format!("{number:0>100}.xml")), "").unwrap();
    }
    daemon.import(folder.path());
    let reader = daemon.reader(&mut admin);
    let tree = read("/tree?recursive=true&pagination=none&ref=main");
    let crowd = Crowd::of(&daemon);
    let held = unread(&crowd, &reader, (0..900).map(|_| tree.clone()));
    assert!(held.iter().all(|(status, _)| *status == 200));
    assert_within(&daemon);
}

#[test]
fn readers_that_take_nothing_of_comparisons() {
    let _alone = alone();
    open_files(2_000);
    let (daemon, mut admin) = with_project(&PATIENT);
    put(&mut admin, "a.txt", b"before\n");
    put(&mut admin, "a.txt", "line\n".repeat(MIB / 5).as_bytes());
    let [reader, other] = [(); 2].map(|()| daemon.reader(&mut admin));
    let target = read("/compare?from=main@v0001&to=main&straight=true");
    let crowd = Crowd::of(&daemon);
    let held = unread(&crowd, &reader, (0..200).map(|_| target.clone()));
    assert_within(&daemon);
    assert_refused(&held, &reader, &other, &target);
}

#[test]
fn comparisons_of_large_files() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    for state in 0..2 {
        for number in 0..12 {
            let mut text = String::new();
            for line in 0..40_000 {
                writeln!(text, "line {} of {number}", line * (state + 1)).unwrap();
            }
            text.truncate(MIB - 10);
            put(&mut admin, &format!("{number}.txt"), text.as_bytes());
        }
        if state == 0 {
            let body = json!({ "name": "old", "from": "main" });
            let branches = on_branch("").replace("/main", "");
            assert_eq!(admin.post(&branches, &body).status, 201);
        }
    }
    let reader = daemon.reader(&mut admin);
    let target = read("/compare?from=old&to=main");
    assert_some_are_answered(&at_once(50, 4, &reader, &target));
    assert_within(&daemon);
}

#[test]
fn whole_histories() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    for number in 0..1_000 {
        put(&mut admin, "a.xml", number.to_string().as_bytes());
    }
    assert_some_are_answered(&at_once(60, 4, &admin, &on_branch("/history")));
    let whole = admin.get(&on_branch("/history")).json();
    let versions = whole.as_array().unwrap().iter().map(|one| &one["version"]);
    assert!(
        versions.eq((1..=1_000)
            .rev()
            .map(|number| format!("v{number:04}"))
            .collect::<Vec<_>>()
            .iter())
    );
    let reader = daemon.reader(&mut admin);
    for answer in at_once(60, 4, &reader, &read("/commits?ref_name=main&per_page=100")) {
        assert_eq!(answer.status, 200);
    }
    assert_within(&daemon);
}

#[test]
fn whole_diffs_and_rehearsals() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let batch = |admin: &mut Client, actions: Vec<serde_json::Value>| {
        let made = admin.post(&on_branch("/batch"), &json!({ "actions": actions }));
        assert_eq!(made.status, 200, "{made:?}");
    };
    for folder in 0..10 {
        let create = |number| {
            let path = format!("here/{folder}/a-name-as-long-as-they-are/{number:05}.xml");
            json!({ "action": "create", "file_path": path, "content": "<a/>" })
        };
        batch(&mut admin, (0..10_000).map(create).collect());
    }
    let there = json!({ "action": "move", "file_path": "there", "previous_path": "here" });
    batch(&mut admin, vec![there]);
    let diff = on_branch("/diff?from=v0011&to=main");
    for answer in at_once(4, 1, &admin, &diff) {
        assert_eq!(answer.status, 200);
        let entry = "\"renamed_from\":\"here/";
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(text.matches(entry).count(), 100_000);
    }
    let rehearsal = on_branch("/rollback?to=v0011&dry_run=1");
    // The connection may have ended meanwhile, for nothing came over it.
    let mut admin = daemon.again(&admin.credential);
    let told = admin.attempt("POST", &rehearsal, "", b"").unwrap();
    assert_eq!(told.status, 200);
    assert_within(&daemon);
}

#[test]
fn patterns_of_a_schema() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let rules =
        json!({ "rules": [{ "patterns": ["conf/*"], "check": "schema", "schema": "a.json" }] });
    let validation = on_branch("").replace("/branches/main", "/validation");
    for count in [600, 9_000] {
        let patterns =
            (0..count).map(|number| json!({ "pattern": format!("a{number}\\pL{{20}}") }));
        let schema = json!({ "anyOf": patterns.collect::<Vec<_>>() });
        put(&mut admin, "a.json", schema.to_string().as_bytes());
        let rules = rules.to_string();
        let refused = admin.attempt("PUT", &validation, "application/json", rules.as_bytes());
        let refused = refused.unwrap();
        assert_eq!(refused.status, 400, "{refused:?}");
        assert_within(&daemon);
    }
}

#[test]
fn whole_trees_and_archives() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let folder = tempfile::tempdir().unwrap();
    for number in 0..20_000 {
        let below = folder.path().join((number % 50).to_string());
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join(format!("{number}.xml")), number.to_string()).unwrap();
    }
    daemon.import(folder.path());
    let reader = daemon.reader(&mut admin);
    for target in [
        read("/tree?recursive=true&pagination=none&ref=main"),
        read("/archive.zip?sha=main"),
    ] {
        assert_some_are_answered(&at_once(60, 2, &reader, &target));
    }
    assert_within(&daemon);
}

#[test]
fn saves_and_reads_of_many_contents() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let reader = daemon.reader(&mut admin);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (mut admin, mut reader) = (admin.another(), reader.another());
            scope.spawn(move || {
                for turn in 0..300_usize {
                    let path = format!("{writer}/{}.bin", turn % 40);
                    let size = 1 << (turn % 18);
                    put(
                        &mut admin,
                        &path,
                        &vec![u8::try_from(turn % 251).unwrap(); size],
                    );
                    let path = path.replace('/', "%2F");
                    let answer = reader.get(&read(&format!("/files/{path}/raw?ref=main")));
                    assert_eq!((answer.status, answer.body.len()), (200, size));
                }
            });
        }
    });
    assert_within(&daemon);
}
