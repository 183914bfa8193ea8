//! Rows T: who is let in, by what, and what others learn of it. What each route makes of each kind of
//! credential is in `matrix`.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{
    ADMIN, Answer, Connection, Daemon, Project, READ, READ_V4, Request, User, git_blob_id,
    password_of, segment,
};
use crate::rounds::Rounds;

const MISMATCH: &str = "FINGERPRINT_MISMATCH";
/// Tries from which on the mean of them tells what a network would hide.
const TRIES_LONG: u64 = 1000;
/// Times that the short form tries so often, at most.
const ATTEMPTS: usize = 5;

fn shop(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

/// A token of the user for everything, and what else is said of it.
fn token(daemon: &Daemon, user: &User, more: &Value) -> (User, String) {
    let mut body = json!({ "name": "t", "repos": ["*"] });
    let fields = body.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let issued = user.issue(&body);
    let text = |field: &str| issued[field].as_str().unwrap().to_owned();
    (daemon.token(&text("tokenString")), text("tokenId"))
}

#[test]
fn t07_ids_of_others_name_nothing() {
    let daemon = Daemon::start();
    let own = shop(&daemon);
    own.save("main", "a.xml", "own");
    let theirs = Project::with_main(&daemon.user("bob", &[]), "theirs");
    theirs.save("main", "a.xml", "theirs one");
    theirs.save("main", "a.xml", "theirs two");
    let (reader, _) = token(&daemon, &own.user, &json!({}));
    let commit = theirs.branch_item("main")["commit"]["id"].clone();
    let commit = commit.as_str().unwrap();
    for mount in [READ, READ_V4] {
        let below = format!("{mount}/projects/{}/repository", segment(&own.id));
        for body in ["theirs one", "theirs two"] {
            let blob = git_blob_id(body.as_bytes());
            for rest in [format!("/blobs/{blob}"), format!("/blobs/{blob}/raw")] {
                let answer = reader.get(&format!("{below}{rest}"));
                answer.assert_error(404, "404 Blob Not Found");
            }
        }
        for rest in [
            format!("/commits/{commit}"),
            format!("/commits/{commit}/diff"),
            format!("/commits/{commit}/refs"),
            format!("/commits?ref_name={commit}"),
            format!("/tree?ref={commit}"),
            format!("/archive.zip?sha={commit}"),
            format!("/files/a.xml?ref={commit}"),
            format!("/files/a.xml/raw?ref={commit}"),
            format!("/compare?from={commit}&to=main"),
            format!("/compare?from=main&to={commit}"),
        ] {
            let refused = reader.get(&format!("{below}{rest}")).assert_refused(404);
            assert!(refused.ends_with("Not Found"), "{rest}: {refused}");
        }
        let answer = reader.get(&format!("{mount}/projects/{}", theirs.number));
        answer.assert_error(403, "403 Forbidden");
    }
    let (_, id) = token(&daemon, &theirs.user, &json!({}));
    let session = theirs.user.get("/user/sessions").json()[0]["id"].clone();
    theirs.add_branch("gone");
    theirs
        .user
        .delete(&theirs.on("gone", ""))
        .expect_status(204);
    let deleted = theirs.user.get(&format!("{ADMIN}/deleted")).json()[0]["id"].clone();
    let [session, deleted] = [session, deleted].map(|id| segment(id.as_str().unwrap()));
    let alice = &own.user;
    for (id, status, message) in [
        (id.as_str(), 403, "your roles do not allow this"),
        ("999999", 404, "Token not found"),
        ("none", 404, "Token not found"),
    ] {
        let token = format!("{ADMIN}/tokens/{id}");
        for answer in [
            alice.patch(&token, &json!({ "name": "x" })),
            alice.delete(&token),
            alice.request("POST", &format!("{token}/rotate")).send(),
        ] {
            answer.assert_error(status, message);
        }
    }
    for answer in [
        alice.delete(&format!("/user/sessions/{session}")),
        alice
            .request("POST", &format!("{ADMIN}/deleted/{deleted}/restore"))
            .send(),
    ] {
        answer.assert_refused(404);
    }
    theirs.user.get("/user/session").expect_status(200);
}

#[test]
fn t15_of_a_hundred_first_uses_one_binds_for_good() {
    const USES: usize = 100;
    let mut daemon = Daemon::start();
    let project = shop(&daemon);
    let (holder, _) = token(
        &daemon,
        &project.user,
        &json!({ "fingerprint_required": true }),
    );
    let tree = project.read("/tree");
    for lines in [
        &[][..],
        &[("X-Instance-Id", "")],
        &[("X-Instance-Id", "   ")],
        &[("X-Instance-Id", "a b")],
        &[("X-Instance-Id", "\u{e9}")],
        &[("X-Instance-Id", &"x".repeat(256))],
    ] {
        let add = |user: User, (name, value): &(&str, &str)| user.with(name, value);
        let answer = lines.iter().fold(holder.clone(), add).get(&tree);
        answer.assert_error(401, MISMATCH);
    }
    let twice = holder.with("X-Instance-Id", "a").with("X-Instance-Id", "a");
    twice.get(&tree).assert_refused(400);

    let start = Barrier::new(USES);
    let won: Vec<String> = thread::scope(|scope| {
        let ask = |number: usize| {
            let (holder, start, tree) = (&holder, &start, &tree);
            scope.spawn(move || {
                let instance = format!("erp-{number}");
                let user = holder.with("X-Instance-Id", &instance);
                start.wait();
                let answer = user.get(tree);
                if answer.status != 200 {
                    answer.assert_error(401, MISMATCH);
                }
                (answer.status == 200).then_some(instance)
            })
        };
        let threads: Vec<_> = (0..USES).map(ask).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(won.len(), 1, "{won:?}");
    // The answer came after the binding was on the disk.
    daemon.kill();
    daemon.restart();
    let holder = daemon.token(holder.credential());
    for number in 0..USES {
        let instance = format!("erp-{number}");
        let answer = holder.with("X-Instance-Id", &instance).get(&tree);
        let expected = if instance == won[0] { 200 } else { 401 };
        assert_eq!(answer.status, expected, "{instance}");
    }
}

/// How much longer one of two requests takes, as Welch's t of interleaved tries: far from 0 is a difference.
fn welch_t(tries: u64, requests: [&Request; 2]) -> f64 {
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..tries {
        for (request, seconds) in requests.iter().zip(&mut seconds) {
            let since = Instant::now();
            (*request).clone().send();
            seconds.push(since.elapsed().as_secs_f64());
        }
    }
    let told = seconds.map(|mut seconds| {
        // What the machine did beside is in the slowest.
        seconds.sort_by(f64::total_cmp);
        seconds.truncate(seconds.len() * 9 / 10);
        let count = f64::from(u32::try_from(seconds.len()).unwrap());
        let mean = seconds.iter().sum::<f64>() / count;
        let square = |second: &f64| (second - mean).powi(2);
        let variance = seconds.iter().map(square).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    });
    let [(one, of_one), (other, of_other)] = told;
    (one - other) / (of_one + of_other).sqrt()
}

/// Guesses that are to take the same time: with a wrong password, of a known account and of none; with a token
/// that is nearly one and with any; from an instance that is nearly the one and from any.
fn guesses(daemon: &Daemon) -> [[Request; 2]; 3] {
    let project = shop(daemon);
    let login = |name: &str| {
        let body = json!({ "username": name, "password": "a wrong password" });
        let request = daemon.anonymous().request("POST", "/user/login");
        request.json(&body)
    };
    let (bound, _) = token(
        daemon,
        &project.user,
        &json!({ "fingerprint_required": true }),
    );
    let tree = project.read("/tree");
    let instance = |id: &str| bound.with("X-Instance-Id", id);
    instance("erp-berlin").get(&tree).expect_status(200);
    let known = bound.credential();
    let last = if known.ends_with('0') { '1' } else { '0' };
    let near = format!("{}{last}", &known[..63]);
    let of_token = |token: &str| daemon.token(token).request("GET", &tree);
    let of_instance = |id: &str| instance(id).request("GET", &tree);
    [
        [login("alice"), login("nobody")],
        [of_token(&near), of_token(&"5a".repeat(32))],
        [of_instance("erp-berlim"), of_instance("xyz-paris1")],
    ]
}

const NO_LIMITS: [&str; 8] = [
    "--wrong-logins-minute-max",
    "0",
    "--wrong-logins-minute-address-max",
    "0",
    "--wrong-logins-minute-account-max",
    "0",
    "--wrong-tokens-minute-address-max",
    "0",
];

/// The short form tells a password that is not looked at, which takes a hundredth of the time; the long one
/// what is left of that, by Welch's t.
#[test]
#[expect(
    clippy::print_stderr,
    reason = "what was measured is said where the tests are run"
)]
fn t16_a_guess_takes_its_time_whatever_is_wrong_with_it() {
    let daemon = Daemon::start_with(&NO_LIMITS);
    let [logins, tokens, instances] = guesses(&daemon);
    let tries = Rounds::or(8).count;
    if tries >= TRIES_LONG {
        // A login takes some thirty times as long.
        for (what, tries, requests) in [
            ("logins", tries / 30, &logins),
            ("tokens", tries, &tokens),
            ("instances", tries, &instances),
        ] {
            let t = welch_t(tries, requests.each_ref());
            eprintln!("{what}: t = {t:.2} of {tries} tries each");
            assert!(t.abs() < 4.5, "{what}: {t}");
        }
        return;
    }
    // In turns, so that what else the machine does meets both.
    let mut quickest = [Duration::MAX; 2];
    let are_alike = (0..ATTEMPTS).any(|_| {
        for _ in 0..tries {
            for (request, quickest) in logins.iter().zip(&mut quickest) {
                let since = Instant::now();
                request.clone().send().assert_refused(401);
                *quickest = since.elapsed().min(*quickest);
            }
        }
        let [wrong, unknown] = quickest;
        unknown * 2 > wrong && wrong * 2 > unknown
    });
    assert!(are_alike, "{quickest:?}");
}

#[test]
fn t21_forms_and_scripts_of_other_sites() {
    let daemon = Daemon::start();
    let project = shop(&daemon);
    project.save("main", "a.xml", "kept");
    let sites: [&[(&str, &str)]; 7] = [
        &[
            ("Origin", "https://evil.example"),
            ("Sec-Fetch-Site", "cross-site"),
        ],
        &[("Origin", "https://evil.example")],
        &[("Origin", "null")],
        &[("Origin", "null"), ("Sec-Fetch-Site", "cross-site")],
        // Another port is the same site, and another origin.
        &[
            ("Origin", "http://127.0.0.1:1"),
            ("Sec-Fetch-Site", "same-site"),
        ],
        &[
            ("Sec-Fetch-Site", "same-site"),
            ("Sec-Fetch-Mode", "no-cors"),
        ],
        &[
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Dest", "image"),
            ("Sec-Fetch-Mode", "no-cors"),
        ],
    ];
    // What a form can send, and what `fetch` can without asking first.
    let bodies = [
        (
            "application/x-www-form-urlencoded",
            "username=alice&password=x",
        ),
        ("text/plain", "{\"username\":\"alice\",\"password\":\"x\"}"),
        ("multipart/form-data; boundary=b", "--b\r\n\r\n--b--\r\n"),
        ("application/json", "{\"name\":\"evil\",\"type\":\"erp\"}"),
    ];
    let targets = [
        ("POST", "/user/login".to_owned()),
        ("POST", "/user/logout".to_owned()),
        ("POST", format!("{ADMIN}/projects")),
        ("POST", format!("{ADMIN}/tokens")),
        ("POST", project.on("main", "/batch")),
        ("POST", project.on("main", "/rollback?to=v0001")),
        ("PUT", project.file("main", "a.xml")),
        ("PUT", "/user/password".to_owned()),
    ];
    let reads = [
        "/user/session".to_owned(),
        project.file("main", "a.xml"),
        project.on("main", "/archive.zip"),
        format!("{ADMIN}/tokens"),
    ];
    for lines in sites {
        let add = |user: User, (name, value): &(&str, &str)| user.with(name, value);
        let page = lines.iter().fold(project.user.clone(), add);
        for (kind, body) in bodies {
            for (method, target) in &targets {
                let request = page.request(method, target).header("Content-Type", kind);
                let answer = request.body(body.as_bytes()).send();
                assert_eq!(answer.status, 403, "{lines:?} {kind} {method} {target}");
                assert_eq!(answer.header("Set-Cookie"), None);
            }
        }
        for target in &reads {
            page.get(target).assert_refused(403);
        }
    }
    // A browser that shows a file as a part of a page, of whichever site.
    for dest in [
        "script", "style", "iframe", "object", "embed", "worker", "manifest",
    ] {
        let page = project.user.with("Sec-Fetch-Site", "same-origin");
        let answer = page.with("Sec-Fetch-Dest", dest).get(&reads[1]);
        assert_eq!(answer.status, 403, "{dest}");
    }
    // Nothing was done, and a program that sends none of these headers goes on.
    project.user.get("/user/session").expect_status(200);
    project.user.get(&reads[1]).assert_bytes(200, b"kept");
    assert_eq!(project.versions("main").len(), 1);
    daemon
        .login("alice", &password_of("alice"))
        .expect_status(200);
}

#[test]
fn t28_a_file_that_somebody_has_is_saved_as_any_other() {
    let daemon = Daemon::start();
    let own = shop(&daemon);
    let theirs = Project::with_main(&daemon.user("bob", &[]), "theirs");
    for size in [100, 100_000] {
        let (known, unknown) = (vec![b'k'; size], vec![b'u'; size]);
        theirs.save("main", &format!("{size}"), &known);
        let told = |path: &str, body: &[u8]| {
            let answer = own.save("main", path, body);
            let mut json = answer.json();
            let fields = json.as_object_mut().unwrap();
            // What follows from the path, the bytes and the number of the save.
            for field in [
                "path",
                "md5",
                "etag",
                "commit_id",
                "short_id",
                "snapshot",
                "id",
            ] {
                fields.remove(field);
            }
            let mut headers = answer.lasting_headers();
            headers.retain(|(name, _)| name != "Etag");
            for (name, value) in &mut headers {
                // Its digits are those of the name and of the snapshot.
                assert!(name != "Location", "{value}");
            }
            (answer.status, headers, json)
        };
        let (name, other) = (format!("k{size}"), format!("u{size}"));
        assert_eq!(told(&name, &known), told(&other, &unknown), "{size}");
    }
}

/// Begins a save of this many bytes, and sends half of them once they are asked for.
fn begin(user: &User, target: &str, bytes: usize) -> Connection {
    let request = user.request("PUT", target).header("Expect", "100-continue");
    let request = request.header("Content-Length", &bytes.to_string());
    let mut connection = Connection::open(user.address());
    connection.send(&request.to_bytes());
    assert_eq!(connection.answer().status, 100);
    connection.send(&vec![b'x'; bytes / 2]);
    connection
}

#[test]
fn t32_what_is_taken_away_while_a_body_comes_counts() {
    const BYTES: usize = 200_000;
    let daemon = Daemon::start();
    let root = daemon.session("admin");
    let role = "ROLE_SITEBUILDER_USER__acme";
    for (number, (case, status)) in [
        ("the session", 401),
        ("the account", 401),
        ("the password", 401),
        ("the role", 403),
        ("the branch", 404),
        ("the project", 404),
        ("the project's name", 404),
    ]
    .into_iter()
    .enumerate()
    {
        let owner = daemon.user(&format!("owner-{number}"), &[]);
        let project = Project::with_main(&owner, &format!("acme/p{number}"));
        let name = format!("carol-{number}");
        let carol = daemon.user(&name, &[role]);
        let account = format!("{ADMIN}/accounts/{name}");
        let mut saving = begin(&carol, &project.file("main", "a.xml"), BYTES);
        let answer: Answer = match case {
            "the session" => carol.request("POST", "/user/logout").send(),
            "the account" => root.patch(&account, &json!({ "enabled": false })),
            "the password" => root.request("PUT", &format!("{account}/password")).send(),
            "the role" => root.delete(&format!("{account}/roles/{role}")),
            "the branch" => owner.delete(&project.on("main", "")),
            "the project" => owner.delete(&project.admin("")),
            _ => owner.patch(
                &project.admin(""),
                &json!({ "name": format!("other/{number}") }),
            ),
        };
        assert!(answer.status < 300, "{case}: {answer:?}");
        saving.send(&vec![b'x'; BYTES - BYTES / 2]);
        let refused = saving.answer();
        assert_eq!(refused.status, status, "{case}: {refused:?}");
        if matches!(status, 401 | 403) {
            assert_eq!(project.tree("main"), json!([]), "{case}");
            assert_eq!(project.versions("main"), [""; 0], "{case}");
        }
    }
}

#[test]
fn t32_of_saves_on_one_state_one_is_made() {
    const SAVES: usize = 8;
    let daemon = Daemon::start();
    let project = shop(&daemon);
    let mut tag = project
        .save("main", "a.xml", "0")
        .header("ETag")
        .unwrap()
        .to_owned();
    for round in 1..=5 {
        let start = Barrier::new(SAVES);
        let saved: Vec<Answer> = thread::scope(|scope| {
            let save = |number: usize| {
                let user = project.user.with("If-Match", &tag);
                let (start, project) = (&start, &project);
                scope.spawn(move || {
                    start.wait();
                    let body = format!("{round} {number}");
                    user.put(&project.file("main", "a.xml"), body.as_bytes())
                })
            };
            let threads: Vec<_> = (0..SAVES).map(save).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let (made, refused): (Vec<_>, Vec<_>) =
            saved.iter().partition(|answer| answer.status == 200);
        assert_eq!(made.len(), 1, "{saved:?}");
        for answer in refused {
            answer.assert_refused(412);
        }
        made[0].header("ETag").unwrap().clone_into(&mut tag);
        assert_eq!(project.versions("main").len(), round + 1);
    }
    // A state that nobody has any more stays refused.
    let late = project.user.with("If-Match", "\"0\"");
    late.put(&project.file("main", "a.xml"), b"late")
        .assert_refused(412);
}
