//! What one client may take of the service: connections, and time for what it sends.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::batch::{FILE, archive, unpack};
use crate::harness::{Answer, Connection, Daemon, Project, READ, Request, User, soon};

/// Sends a request's head and not its body.
pub(crate) fn begin(connection: &mut Connection, request: &Request, announced: usize) {
    let mut bytes = request.to_bytes();
    bytes.truncate(bytes.len() - 2);
    bytes.extend(format!("Content-Length: {announced}\r\n\r\n").as_bytes());
    connection.send(&bytes);
}

/// Reads that the daemon wants the body: it has counted the request.
pub(crate) fn wait_for_body(connection: &mut Connection) {
    let wanted = b"HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(connection.bytes(wanted.len()), wanted);
}

/// Sends a byte now and then until the daemon has had enough, and tells how long that took.
pub(crate) fn drip(mut connection: Connection, bytes: usize, status: u16) -> Duration {
    let since = Instant::now();
    thread::scope(|scope| {
        let mut sending = connection.another_end();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let pause = Duration::from_millis(50);
            while stopped.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                sending.send(&vec![b' '; bytes]);
            }
        });
        let answer = connection.answer();
        drop(stop);
        answer.assert_error(status, "the body came too slowly; send it again");
    });
    since.elapsed()
}

#[test]
fn a_small_body_has_one_time_for_all_of_it() {
    let daemon = Daemon::start_with(&["--body-s-max", "1"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let token = daemon.reader(&project);
    let login = daemon
        .anonymous()
        .request("POST", "/user/login")
        .header("Content-Type", "application/json");
    let branch = project
        .user
        .request("POST", &project.admin("/branches"))
        .header("Content-Type", "application/json");
    let form = token
        .request("GET", &project.read("/tree"))
        .header("Content-Type", "application/x-www-form-urlencoded");
    for request in [login, branch, form] {
        let mut connection = daemon.connect();
        begin(&mut connection, &request, 8000);
        let took = drip(connection, 1, 408);
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
}

#[test]
fn an_upload_must_keep_on_coming() {
    let daemon = Daemon::start_with(&["--upload-grace-s", "1"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let save = || project.user.request("PUT", &project.file("main", "a.xml"));
    for announced in [50_000, 5_000_000] {
        let mut connection = daemon.connect();
        begin(&mut connection, &save(), announced);
        let took = drip(connection, 10, 408);
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    // For longer than the grace, and fast enough, also where the machine stands still for a moment.
    let daemon = Daemon::start_with(&["--upload-grace-s", "5"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let save = project.user.request("PUT", &project.file("main", "a.xml"));
    let mut connection = daemon.connect();
    begin(&mut connection, &save, 56 << 10);
    for _ in 0..56 {
        connection.send(&[b'x'; 1 << 10]);
        thread::sleep(Duration::from_millis(125));
    }
    connection.answer().expect_status(201);
}

#[test]
fn an_upload_has_one_time_for_all_of_it_however_steadily_it_comes() {
    let daemon = Daemon::start_with(&["--upload-s-max", "1"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for announced in [50_000, 5_000_000] {
        let save = project.user.request("PUT", &project.file("main", "a.xml"));
        let mut connection = daemon.connect();
        // Before the daemon can have begun to count.
        let since = Instant::now();
        begin(&mut connection, &save, announced);
        drip(connection, 1500, 408);
        let took = since.elapsed();
        assert!(took >= Duration::from_secs(1), "{took:?}");
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
}

#[test]
fn a_login_is_short_and_a_form_of_nobody_is_not_read() {
    let daemon = Daemon::start();
    let body = json!({ "username": "admin", "password": "x".repeat(8 << 10) });
    let refused = daemon.anonymous().post("/user/login", &body);
    refused.assert_error(413, "the body is larger than 8192 bytes");
    for token in [None, Some("0".repeat(64))] {
        let mut request = daemon
            .anonymous()
            .request("GET", &format!("{READ}/projects"))
            .header("Content-Type", "application/x-www-form-urlencoded");
        if let Some(token) = token {
            request = request.header("PRIVATE-TOKEN", &token);
        }
        let mut connection = daemon.connect();
        begin(&mut connection, &request, 20_000);
        connection.answer().assert_refused(401);
    }
}

#[test]
fn one_address_has_so_many_connections_and_is_told() {
    let daemon = Daemon::start_with(&["--connections-address-max", "3"]);
    let health = daemon
        .anonymous()
        .request("GET", &format!("{READ}/health"))
        .to_bytes();
    // The service takes them in their order. One that was answered would be ended.
    let mut held: Vec<_> = (0..3).map(|_| daemon.connect()).collect();
    for connection in &mut held {
        connection.send(&health[..10]);
    }
    let mut refused = daemon.connect();
    refused.send(&health);
    let answer = refused.answer();
    answer.assert_error(429, "too many connections of one address; try again later");
    assert_eq!(answer.header("Retry-After"), Some("1"));
    assert!(refused.is_closed());
    drop(held.pop());
    soon(|| {
        let mut connection = daemon.connect();
        connection.send(&health);
        connection.answer().status == 200
    });
}

/// Has a client behind a proxy begin a login, of which two bytes are still to come.
pub(crate) fn begin_login(daemon: &Daemon, address: &str) -> Connection {
    let request = daemon
        .anonymous()
        .request("POST", "/user/login")
        .header("Content-Type", "application/json")
        .header("X-Forwarded-For", address)
        .header("Expect", "100-continue");
    let mut connection = daemon.connect();
    begin(&mut connection, &request, 2);
    connection
}

#[test]
fn behind_a_proxy_the_clients_that_it_tells_of_are_counted() {
    let flags = [
        "--connections-address-max",
        "2",
        "--trusted-proxies",
        "127.0.0.1",
    ];
    let daemon = Daemon::start_with(&flags);
    let login = |address: &str| begin_login(&daemon, address);
    let (mut first, mut second) = (login("192.0.2.66"), login("192.0.2.66"));
    wait_for_body(&mut first);
    wait_for_body(&mut second);
    let refused = login("192.0.2.66").answer();
    refused.assert_error(429, "too many requests at once; try again in 1 s");
    let mut other = login("192.0.2.1");
    wait_for_body(&mut other);
    for connection in [&mut first, &mut second, &mut other] {
        connection.send(b"{}");
        connection.answer().assert_refused(400);
    }
}

#[test]
fn a_batch_is_read_no_further_than_its_limit() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let action = r#"{"action":"delete","file_path":"a"},"#;
    let body = format!("{{\"actions\":[{} and so on", action.repeat(10_001));
    let refused = project
        .user
        .request("POST", &project.on("main", "/batch"))
        .header("Content-Type", "application/json")
        .body(body.as_bytes())
        .send()
        .assert_refused(400);
    assert!(
        refused.starts_with("malformed JSON body: actions: there are more than 10000 actions"),
        "{refused}"
    );
}

/// True where a request wants the place that somebody holds.
pub(crate) fn takes_long(user: &User, target: &str) -> bool {
    let answer = user.get(target);
    if answer.status == 503 {
        answer.assert_error(503, "too many long requests at once; try again in a moment");
    }
    answer.status == 503
}

/// More than the sockets of both ends hold, which nothing makes shorter.
fn incompressible(length: usize) -> Vec<u8> {
    let byte = |at: usize| u8::try_from(at.wrapping_mul(2_654_435_761) >> 24 & 0xff).unwrap();
    (0..length).map(byte).collect()
}

/// Asks for a branch that begins at a revision.
fn begin_branch(project: &Project, name: &str, from: &str) -> Answer {
    let body = json!({ "name": name, "from": from });
    project.user.post(&project.admin("/branches"), &body)
}

#[test]
fn a_revision_that_has_to_be_searched_takes_a_long_place_and_once_missed_none() {
    let (daemon, project) = with_places(1, 0, 1);
    let project = &project;
    project.save("main", "a.xml", "one").expect_status(201);
    let [one, two] = [(); 2].map(|()| daemon.reader(project));
    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    let unknown = "0123456789abcdef0123456789abcdef01234567";
    let targets = |unknown: &str| {
        [
            format!("{}?ref={unknown}", project.raw("a.xml")),
            format!("{}?ref={unknown}", project.raw("a.xml").replace("/raw", "")),
            project.read(&format!("/tree?ref={unknown}")),
            project.read(&format!("/commits?ref_name={unknown}")),
            project.read(&format!("/commits/{unknown}?stats=false")),
        ]
    };
    let filtered = project.read("/branches?regex=m");
    assert!(takes_long(&two, &filtered));
    for target in targets(unknown) {
        assert!(takes_long(&two, &target), "{target}");
    }
    let begin = |from: &str| begin_branch(project, "next", from);
    begin(unknown).assert_error(503, NO_PLACE);
    let main = two.get(&format!("{}?ref=main", project.raw("a.xml")));
    main.assert_bytes(200, b"one");
    drop(held);
    let [raw, ..] = targets(unknown);
    soon(|| two.get(&raw).status == 404);

    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    for target in targets(unknown) {
        let missed = two.get(&target);
        let what = if target.contains("/tree") {
            "Tree"
        } else {
            "Commit"
        };
        missed.assert_error(404, &format!("404 {what} Not Found"));
    }
    begin(unknown).assert_error(404, "Revision not found");
    // Another, and the same once a branch has changed.
    assert!(takes_long(&two, &raw.replace("?ref=0", "?ref=1")));
    project.save("main", "a.xml", "two").expect_status(200);
    assert!(takes_long(&two, &raw));
    drop(held);
}

#[test]
fn commits_far_from_the_head_take_a_long_place() {
    let (daemon, project) = with_places(1, 0, 1);
    let project = &project;
    for number in 0..320 {
        project.save("main", "a.xml", number.to_string());
    }
    let short = Project::with_main(&project.user, "acme/short");
    let [one, two] = [(); 2].map(|()| daemon.reader(project));
    let other = daemon.reader(&short);
    let head = two.get(&project.read("/commits?per_page=1")).json()[0]["id"].clone();
    let old = two
        .get(&project.read("/commits?per_page=1&page=200"))
        .json()[0]["id"]
        .clone();
    let (head, old) = (head.as_str().unwrap(), old.as_str().unwrap());
    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    for near in [
        "/commits".to_owned(),
        "/commits?per_page=100&page=3".to_owned(),
        "/commits?ref_name=main&per_page=60&page=5".to_owned(),
        "/commits?ref_name=main@v0310".to_owned(),
        format!("/commits?ref_name={head}"),
        format!("/commits/{head}?stats=false"),
        "/commits/main@v0310?stats=false".to_owned(),
    ] {
        two.get(&project.read(&near)).expect_status(200);
    }
    other
        .get(&short.read("/commits?page=99"))
        .expect_status(200);
    for far in [
        "/commits?per_page=100&page=4".to_owned(),
        "/commits?ref_name=main&per_page=1&page=301".to_owned(),
        "/commits?ref_name=main@v0003".to_owned(),
        "/commits?ref_name=main@v0310&per_page=100&page=3".to_owned(),
        format!("/commits?ref_name={old}"),
        format!("/commits/{old}?stats=false"),
        "/commits/main@v0003?stats=false".to_owned(),
    ] {
        assert!(takes_long(&two, &project.read(&far)), "{far}");
    }
    for (name, from) in [("head", head), ("snapshot", "main@v0003"), ("main", "main")] {
        begin_branch(project, &format!("of-{name}"), from).expect_status(201);
    }
    begin_branch(project, "of-old", old).assert_error(503, NO_PLACE);
    drop(held);
    let last = project.read("/commits?per_page=100&page=4");
    soon(|| two.get(&last).status == 200);
    let titles = two.get(&last).json();
    let titles = titles
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["title"].as_str().unwrap());
    // Those of a.xml from the 20th on, that of the large file, and the branch.
    let expected = std::iter::repeat_n("save a.xml", 20).chain(["save large.bin", "create branch"]);
    assert!(titles.eq(expected));
}

#[test]
fn commits_of_many_files_take_a_long_place() {
    let (daemon, project) = with_places(1, 0, 1);
    let project = &project;
    for part in 0..2 {
        let names: Vec<_> = (0..6000).map(|n| format!("{part}/{n}.xml")).collect();
        let entries: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), 0o644, FILE, &b""[..]))
            .collect();
        unpack(project, "", &archive(&entries)).expect_status(200);
    }
    for number in 0..100 {
        project.save("main", "a.xml", number.to_string());
    }
    let [one, two] = [(); 2].map(|()| daemon.reader(project));
    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    for few in ["/commits?per_page=5", "/commits/main?stats=false"] {
        two.get(&project.read(few)).expect_status(200);
    }
    let many = project.read("/commits?per_page=100");
    assert!(takes_long(&two, &many));
    drop(held);
    soon(|| two.get(&many).status == 200);
    // Their ids are kept from now on.
    daemon
        .reader(project)
        .get(&project.read("/commits?per_page=5"))
        .expect_status(200);
    let _held = unread(&daemon, &one, &project.read("/archive.tar"));
    // Another list of them: this one is kept itself.
    let others = project.read("/commits?per_page=99");
    two.get(&others).expect_status(200);
}

/// A service with so many places for long requests that run, that wait, and that are of one credential; and a
/// project with an archive that is more than the sockets of both ends hold.
pub(crate) fn with_places(at_once: u64, waiting: u64, of_credential: u64) -> (Daemon, Project) {
    let flags = [
        ("--long-at-once-max", at_once),
        ("--long-waiting-max", waiting),
        ("--long-credential-max", of_credential),
    ];
    let flags = flags.map(|(flag, places)| [flag.to_owned(), places.to_string()]);
    let flags: Vec<_> = flags.iter().flatten().map(String::as_str).collect();
    let daemon = Daemon::start_with(&flags);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let large = incompressible(48 << 20);
    project.save("main", "large.bin", &large).expect_status(201);
    (daemon, project)
}

/// Has an archive sent and does not take it: it keeps its place.
#[track_caller]
pub(crate) fn unread(daemon: &Daemon, user: &User, archive: &str) -> Connection {
    let mut connection = daemon.connect();
    connection.send(&user.request("GET", archive).to_bytes());
    assert!(connection.bytes(12).starts_with(b"HTTP/1.1 200"));
    connection
}

const HAS_ITS_PLACES: &str = "too many long requests at once; try again in 1 s";
const NO_PLACE: &str = "too many long requests at once; try again in a moment";

#[test]
fn long_requests_have_places_and_short_ones_go_by() {
    // One for tokens, and one for people.
    let (daemon, project) = with_places(1, 1, 1);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let [one, two] = [(); 2].map(|()| daemon.reader(&project));
    let of_bob = daemon.reader(&project.seen_by(&bob));
    let compare = project.read("/compare?from=main&to=main");
    let first = unread(&daemon, &one, &project.read("/archive.tar"));
    one.get(&compare).assert_error(429, HAS_ITS_PLACES);
    two.get(&compare).assert_error(429, HAS_ITS_PLACES);
    let refused = of_bob.get(&compare);
    refused.assert_error(503, NO_PLACE);
    assert_eq!(refused.header("Retry-After"), Some("1"));
    let archive = project.on("main", "/archive.tar");
    let second = unread(&daemon, &bob, &archive);
    // So has what reads everything that was deleted, searches, compares or counts.
    for long in [
        "/site-builder/api/deleted".to_owned(),
        project.on("main", "/diff?from=v0001&to=main"),
        project.on("main", "/tree?search=x"),
        project.on("main", "/tree?with=last_change"),
        project.on("main", "/history?limit=1"),
    ] {
        assert_eq!(bob.get(&long).assert_refused(429), HAS_ITS_PLACES);
        assert_eq!(project.user.get(&long).assert_refused(503), NO_PLACE);
    }
    for short in ["/tree", "/history", "/tree?limit=1"] {
        let shown = project.user.get(&project.on("main", short));
        shown.expect_status(200);
    }
    for short in [project.read("/branches"), project.read("/commits")] {
        one.get(&short).expect_status(200);
        of_bob.get(&short).expect_status(200);
    }
    // A large file as JSON needs none either.
    let third = unread(&daemon, &of_bob, &project.read("/files/large.bin?ref=main"));
    drop((first, second, third));
    soon(|| of_bob.get(&compare).status == 200);
}

#[test]
fn a_file_that_a_schema_is_about_takes_a_long_place_however_small() {
    let (daemon, project) = with_places(1, 0, 1);
    let save = |path: &str| project.user.put(&project.file("main", path), b"{}");
    save("schema.json").expect_status(201);
    let rules = |check: Value| {
        let body = json!({ "rules": [check] });
        let request = project.user.request("PUT", &project.admin("/validation"));
        request.json(&body).send().expect_status(200);
    };
    let archive = project.read("/archive.tar");
    let compare = project.read("/compare?from=main&to=main");
    let by_schema = json!({ "patterns": ["conf/*"], "check": "schema", "schema": "schema.json" });
    for (check, statuses) in [
        (
            json!({ "patterns": ["*"], "check": "json" }),
            [201, 200, 201],
        ),
        (by_schema, [503, 503, 200]),
    ] {
        rules(check);
        let reader = daemon.reader(&project);
        let held = unread(&daemon, &reader, &archive);
        let saved = ["conf/a.json", "schema.json", "other.json"].map(|path| save(path).status);
        assert_eq!(saved, statuses);
        drop(held);
        soon(|| reader.get(&compare).status == 200);
    }
}

#[test]
fn tokens_leave_places_for_long_requests_to_those_of_others_and_to_people() {
    // Of 8 places 2 are kept for people, and the tokens of one account take 4 at most.
    let (daemon, project) = with_places(1, 7, 2);
    let [bob, carol] =
        ["bob", "carol"].map(|name| daemon.user(name, &["ROLE_SITEBUILDER_EDITOR__ROOT"]));
    let reader = |user: &User| daemon.reader(&project.seen_by(user));
    let archive = project.read("/archive.tar");
    let compare = project.read("/compare?from=main&to=main");
    let unread = |token: &User| [(); 2].map(|()| unread(&daemon, token, &archive));
    let diff = project.on("main", "/diff?from=main&to=main");

    let _held = [(); 2].map(|()| unread(&reader(&project.user)));
    let more = reader(&project.user).get(&compare);
    more.assert_error(429, HAS_ITS_PLACES);
    let of_bob = reader(&bob);
    of_bob.get(&compare).expect_status(200);

    let _held_by_bob = unread(&of_bob);
    of_bob.get(&compare).assert_error(429, HAS_ITS_PLACES);
    reader(&carol).get(&compare).assert_error(503, NO_PLACE);
    for person in [&project.user, &bob, &carol] {
        assert_eq!(person.get(&diff).expect_status(200).json(), json!([]));
    }
}
