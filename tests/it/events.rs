//! Streams of events: contract section 6, "Events".

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use siteconf::base::limits::EVENT_BYTES_MAX;

use crate::harness::{Connection, Daemon, Project, Request, soon};
use crate::waits::{AT_ONCE, Stage};

/// Longer than a stream says nothing, and than one goes on whose session has ended.
const QUIET_MAX: Duration = Duration::from_secs(70);

/// No branch of these tests takes more bytes.
const BRANCH_BYTES_MAX: usize = 2 << 10;

/// An answer that goes on.
struct Stream {
    connection: Connection,
    head: String,
    /// What came and was not looked at.
    text: String,
}

impl Stream {
    /// Asks, and reads the head of the answer and its first block.
    #[track_caller]
    fn open(daemon: &Daemon, request: &Request) -> Self {
        let mut stream = Self::ask(daemon, request);
        stream.begin();
        stream
    }

    /// Asks, and reads the head of the answer, which may be a refusal.
    fn ask(daemon: &Daemon, request: &Request) -> Self {
        let mut connection = daemon.connect();
        connection.send(&request.to_bytes());
        let mut stream = Self {
            head: String::new(),
            text: String::new(),
            connection,
        };
        stream.head = stream.read_to("\r\n\r\n");
        stream
    }

    /// Reads the first block.
    #[track_caller]
    fn begin(&mut self) {
        let head = &self.head;
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(self.next().as_deref(), Some("retry: 3000"));
    }

    fn read_to(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            read.extend(self.connection.bytes(1));
        }
        String::from_utf8(read).unwrap()
    }

    /// The next block, `None` at the end.
    fn next(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let length = self.read_to("\r\n");
            let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
            let chunk = self.connection.bytes(length + 2);
            if length == 0 {
                assert_eq!(self.text, "");
                return None;
            }
            self.text += std::str::from_utf8(&chunk[..length]).unwrap();
        }
    }

    /// The id and the data of the next event.
    #[track_caller]
    fn event(&mut self) -> (String, Value) {
        let event = self.next().expect("an event comes");
        let (id, data) = event.split_once('\n').unwrap();
        let data = serde_json::from_str(data.strip_prefix("data: ").unwrap());
        (id.strip_prefix("id: ").unwrap().to_owned(), data.unwrap())
    }

    /// The branches and the deleted names of the next event of a project, which is not long.
    #[track_caller]
    fn changes(&mut self) -> (Value, Value) {
        let event = self.next().expect("an event comes");
        assert!(event.len() < EVENT_BYTES_MAX + BRANCH_BYTES_MAX);
        let data = event.strip_prefix("data: ").unwrap();
        let mut data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data.as_object().unwrap().len(), 2, "{data}");
        (data["branches"].take(), data["deleted"].take())
    }
}

fn of_branch(project: &Project, branch: &str) -> Request {
    project.user.request("GET", &project.on(branch, "/events"))
}

fn of_project(project: &Project) -> Request {
    project.user.request("GET", &project.admin("/events"))
}

/// The branch as `GET` shows it, with its commit id.
#[track_caller]
fn shown(project: &Project) -> (String, Value) {
    let answer = project.user.get(&project.on("main", "")).expect_status(200);
    let id = answer.header("ETag").unwrap().trim_matches('"').to_owned();
    (id, answer.json())
}

/// These branches as the list shows them.
fn listed(project: &Project, names: &[&str]) -> Value {
    let list = project.user.get(&project.admin("/branches")).json();
    let mut list = list.as_array().unwrap().clone();
    list.retain(|branch| names.contains(&branch["name"].as_str().unwrap()));
    // Oldest first.
    list.sort_by_key(|branch| {
        let name = branch["name"].as_str().unwrap().to_owned();
        names.iter().position(|wanted| *wanted == name)
    });
    list.into()
}

#[test]
fn each_state_of_a_branch_is_an_event() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let request = of_branch(project, "main").header("Accept-Encoding", "gzip");
    let mut stream = Stream::open(daemon, &request);
    for line in [
        "Content-Type: text/event-stream",
        "Cache-Control: no-store",
        "X-Accel-Buffering: no",
        "Transfer-Encoding: chunked",
        "X-Content-Type-Options: nosniff",
    ] {
        let there = format!("\r\n{line}\r\n");
        assert!(stream.head.contains(&there), "{}", stream.head);
    }
    assert!(!stream.head.contains("Encoding: gzip"), "{}", stream.head);
    assert_eq!(stream.event(), shown(project));
    stage.wait_until(1);
    project.add_branch("other");
    for turn in 0..3 {
        let since = Instant::now();
        project.save("other", "a.xml", format!("<{turn}/>"));
        project.save("main", "a.xml", format!("<{turn}/>"));
        assert_eq!(stream.event(), shown(project));
        assert!(since.elapsed() < AT_ONCE);
    }
    daemon.run(&["put", &project.id, "main", "beside.xml"], "<x/>");
    assert_eq!(stream.event(), shown(project));
    // Back in a state that it was in before, it is in another all the same.
    let to = project.on("main", "/rollback?to=v0005");
    project.user.request("POST", &to).send().expect_status(200);
    assert_eq!(stream.event(), shown(project));
    // That it is the default no more leaves its id as it was.
    project.add_branch("master");
    let (id, data) = stream.event();
    assert_eq!(data["default"], false);
    assert_eq!((id, data), shown(project));
    drop(stream);
    stage.wait_until(0);
}

#[test]
fn who_comes_again_is_told_what_was_missed() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let target = project.on("main", "/events");
    let (old, _) = shown(project);
    project.save("main", "a.xml", "<b/>");
    let (id, present) = shown(project);
    let of_page = |etag: &str| {
        project
            .user
            .request("GET", &format!("{target}?etag={etag}"))
    };
    let last = |id: &str| of_branch(project, "main").header("Last-Event-ID", id);
    for missed in [last(&old), last("x"), of_page(&old), of_page("")] {
        let event = Stream::open(daemon, &missed).event();
        assert_eq!(event, (id.clone(), present.clone()));
    }
    let known = [
        last(&id),
        of_page(&id),
        of_page(&format!("%22{id}%22")),
        of_page(&format!("%22{id}-gzip%22")),
        of_page(&old).header("Last-Event-ID", &id),
    ];
    stage.wait_until(0);
    let mut streams: Vec<_> = known.iter().map(|it| Stream::open(daemon, it)).collect();
    stage.wait_until(5);
    project.save("main", "a.xml", "<c/>");
    for stream in &mut streams {
        assert_eq!(stream.event(), shown(project));
    }
}

#[test]
fn a_project_tells_which_branches_are_others_than_before() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let mut stream = Stream::open(daemon, &of_project(project));
    stage.wait_until(1);
    let none = json!([]);
    project.save("main", "a.xml", "<b/>");
    assert_eq!(stream.changes(), (listed(project, &["main"]), none.clone()));
    project.add_branch("other");
    assert_eq!(
        stream.changes(),
        (listed(project, &["other"]), none.clone())
    );
    daemon.run(&["put", &project.id, "other", "beside.xml"], "<x/>");
    assert_eq!(
        stream.changes(),
        (listed(project, &["other"]), none.clone())
    );
    // The default is another, and shown so.
    project.add_branch("master");
    let both = listed(project, &["main", "master"]);
    assert_eq!(both[0]["default"], false);
    assert_eq!(stream.changes(), (both, none.clone()));
    let renamed = project
        .user
        .patch(&project.on("other", ""), &json!({ "name": "next" }));
    renamed.expect_status(200);
    let next = listed(project, &["next"]);
    assert_eq!(stream.changes(), (next, json!(["other"])));
    project
        .user
        .delete(&project.on("master", ""))
        .assert_empty(204);
    let main = listed(project, &["main"]);
    assert_eq!(stream.changes(), (main, json!(["master"])));
    // Other projects are none of its business.
    let other = Project::with_main(&project.user, "acme/other");
    other.save("main", "a.xml", "<x/>");
    project.save("main", "a.xml", "<c/>");
    assert_eq!(stream.changes(), (listed(project, &["main"]), none));
}

/// What a client knows of a project's branches, by their names.
#[derive(Default)]
struct Known {
    branches: BTreeMap<String, Value>,
    /// How often it was told of each.
    told: BTreeMap<String, usize>,
}

impl Known {
    /// Reads events until it knows what the list shows.
    #[track_caller]
    fn learn(&mut self, stream: &mut Stream, project: &Project) -> usize {
        let list = project.user.get(&project.admin("/branches")).json();
        let list = list.as_array().unwrap();
        let mut events = 0;
        while !self.branches.values().eq(list) {
            let (branches, deleted) = stream.changes();
            for branch in branches.as_array().unwrap() {
                let name = branch["name"].as_str().unwrap().to_owned();
                *self.told.entry(name.clone()).or_default() += 1;
                self.branches.insert(name, branch.clone());
            }
            for name in deleted.as_array().unwrap() {
                self.branches.remove(name.as_str().unwrap()).unwrap();
            }
            events += 1;
        }
        events
    }
}

#[test]
fn many_changes_are_told_in_several_events_each_once_and_the_last_state_wins() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let names: Vec<_> = (0..250).map(|n| format!("side-{n:03}")).collect();
    for name in &names {
        project.add_branch(name);
    }
    let role = "ROLE_SITEBUILDER_USER__acme";
    let reads_all = "ROLE_SITEBUILDER_EDITOR__READONLY";
    let bob = project.seen_by(&daemon.user("bob", &[role, reads_all]));
    let mut stream = Stream::open(daemon, &of_project(&bob));
    stage.wait_until(1);
    // All are shown otherwise then, and it is looked at them when one has changed.
    daemon.run(&["user", "role", "remove", "bob", role], "");
    soon(|| bob.branch_item("main")["permissions"]["write"] == false);
    project.save("main", "a.xml", "<b/>");
    let mut known = Known::default();
    let events = known.learn(&mut stream, &bob);
    assert!(events > 2, "{events}");
    // It may have been looked at before that change, too.
    known.told.remove("main");
    assert!(known.told.keys().eq(&names));
    assert!(known.told.values().all(|told| *told == 1));
    // The client reads nothing meanwhile.
    let (gone, stays) = names.split_at(1);
    for turn in 0..2 {
        for name in stays {
            project.save(name, "a.xml", format!("<{turn}/>"));
        }
    }
    let last = project.user.delete(&project.on(&gone[0], ""));
    last.assert_empty(204);
    known.learn(&mut stream, &bob);
    // Nothing was left: what comes next is the next change, and no other.
    project.save("side-100", "a.xml", "<next/>");
    let next = (listed(&bob, &["side-100"]), json!([]));
    assert_eq!(stream.changes(), next);
}

#[test]
fn rights_that_change_are_told_and_without_them_it_ends() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let role = "ROLE_SITEBUILDER_USER__acme";
    let reads_all = "ROLE_SITEBUILDER_EDITOR__READONLY";
    let bob = project.seen_by(&daemon.user("bob", &[role, reads_all]));
    let mut of_branch = Stream::open(daemon, &of_branch(&bob, "main"));
    assert_eq!(of_branch.event().1["permissions"]["write"], true);
    let mut of_project = Stream::open(daemon, &of_project(&bob));
    project.add_branch("other");
    of_project.changes();
    daemon.run(&["user", "role", "remove", "bob", role], "");
    soon(|| bob.branch_item("main")["permissions"]["write"] == false);
    project.save("main", "a.xml", "<b/>");
    // It may have been looked at between the two.
    let all = listed(&bob, &["main", "other"]);
    let (first, _) = of_project.changes();
    assert_eq!(first[1], all[1]);
    assert_eq!(first[1]["permissions"]["write"], false);
    if first != all {
        assert_eq!(first[0]["permissions"], all[0]["permissions"]);
        assert_eq!(of_project.changes().0, json!([all[0]]));
    }
    let event = of_branch.event();
    assert_eq!(event.1["permissions"]["write"], false);
    if event != shown(&bob) {
        assert_eq!(of_branch.event(), shown(&bob));
    }
    daemon.run(&["user", "role", "remove", "bob", reads_all], "");
    soon(|| bob.user.get(&bob.on("main", "")).status == 403);
    project.save("main", "a.xml", "<secret/>");
    assert_eq!((of_branch.next(), of_project.next()), (None, None));
}

#[test]
fn what_is_refused_has_its_status() {
    let stage = Stage::set_with(&["--waiting-credential-max", "1"]);
    let (daemon, project) = (&stage.daemon, &stage.project);
    let bob = daemon.user("bob", &[]);
    for target in [project.on("main", "/events"), project.admin("/events")] {
        daemon.anonymous().get(&target).assert_refused(401);
        stage.reader.get(&target).assert_refused(401);
        bob.get(&target).assert_refused(403);
        let elsewhere = project.user.with("Sec-Fetch-Site", "cross-site");
        elsewhere.get(&target).assert_refused(403);
        let unknown = project.user.get(&format!("{target}?wait=1"));
        unknown.assert_error(400, "unknown query parameter \"wait\"");
        let body = project.user.request("GET", &target).body(b"{}").send();
        body.assert_refused(400);
        // Who asks for the head alone takes no place.
        let head = project.user.head(&target);
        assert_eq!(head.status, 200);
        assert_eq!(head.header("Content-Type"), Some("text/event-stream"));
    }
    project
        .user
        .get(&project.on("none", "/events"))
        .assert_refused(404);
    let none = project.admin("/events").replace("shop", "none");
    project.user.get(&none).assert_refused(404);
    stage.wait_until(0);
    let _held = Stream::open(daemon, &of_branch(project, "main"));
    stage.wait_until(1);
    for request in [of_branch(project, "main"), of_project(project)] {
        let refused = request.send();
        refused.assert_refused(429);
        assert_eq!(refused.header("Retry-After"), Some("5"));
    }
}

#[test]
fn a_stream_ends_with_what_opened_it() {
    let mut stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let carol = project.seen_by(&daemon.user("carol", &["ROLE_SITEBUILDER_USER__acme"]));
    let mut of_owner = Stream::open(daemon, &of_branch(project, "main"));
    let mut of_carol = Stream::open(daemon, &of_branch(&carol, "main"));
    let mut list_of_carol = Stream::open(daemon, &of_project(&carol));
    of_owner.event();
    of_carol.event();
    let logout = carol.user.request("POST", "/user/logout").send();
    logout.assert_empty(204);
    project.save("main", "a.xml", "<secret/>");
    assert_eq!(of_carol.next(), None);
    assert_eq!(list_of_carol.next(), None);
    assert_eq!(of_owner.event(), shown(project));
    // A branch that is gone is 404 for who comes again.
    project.add_branch("other");
    let mut of_other = Stream::open(daemon, &of_branch(project, "other"));
    of_other.event();
    let gone = project.user.delete(&project.on("other", ""));
    gone.assert_empty(204);
    assert_eq!(of_other.next(), None);
    let shop = Project::with_main(&project.user, "acme/gone");
    let mut of_shop = Stream::open(daemon, &of_project(&shop));
    shop.user.delete(&shop.admin("")).assert_empty(204);
    assert_eq!(of_shop.next(), None);
    // One that stops sending has left.
    let mut left = Stream::open(daemon, &of_project(project));
    stage.wait_until(2);
    left.connection.finish_sending();
    assert_eq!(left.next(), None);
    stage.wait_until(1);
    // One that goes on until the time for a stop is over has another code.
    assert_eq!(stage.daemon.stop().code(), Some(0));
    assert_eq!(of_owner.next(), None);
}

#[test]
fn to_be_told_is_no_use_of_a_session() {
    let mut stage = Stage::set();
    // Only now: what takes a while on a busy machine is done by a session that lasts.
    assert_eq!(stage.daemon.stop().code(), Some(0));
    stage.daemon.restart_with(&["--session-idle-s", "3"]);
    let (daemon, project) = (&stage.daemon, &stage.project);
    let mut opened = None;
    // Where the machine stands still between the two, the session is over before the stream begins.
    soon(|| {
        let user = daemon.session("admin");
        let stream = Stream::ask(daemon, &of_project(&project.seen_by(&user)));
        let is_over = stream.head.starts_with("HTTP/1.1 401");
        opened = Some((user, stream));
        !is_over
    });
    let (user, mut stream) = opened.expect("a stream was opened");
    stream.begin();
    let end = Instant::now() + AT_ONCE;
    for turn in 0.. {
        daemon.run(&["put", &project.id, "main", "a.xml"], &turn.to_string());
        if stream.next().is_none() {
            break;
        }
        assert!(Instant::now() < end, "the session goes on and on");
    }
    user.get("/user/session").assert_refused(401);
}

#[test]
fn where_nothing_happens_that_is_told_and_the_session_is_looked_at() {
    let stage = Stage::set();
    let (daemon, project) = (&stage.daemon, &stage.project);
    let carol = project.seen_by(&daemon.user("carol", &["ROLE_SITEBUILDER_USER__acme"]));
    let mut opened = Stream::open(daemon, &of_project(project));
    let mut ended = Stream::open(daemon, &of_project(&carol));
    let since = Instant::now();
    let logout = carol.user.request("POST", "/user/logout").send();
    logout.assert_empty(204);
    for stream in [&opened, &ended] {
        stream.connection.be_patient_for(QUIET_MAX);
    }
    assert_eq!(ended.next(), None);
    assert_eq!(opened.next().as_deref(), Some("event: quiet\ndata:"));
    assert!(since.elapsed() < QUIET_MAX);
}
