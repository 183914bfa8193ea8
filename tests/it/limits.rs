//! Limits that the operator has set: what is over one is refused, and told what it was.

use serde_json::{Value, json};

use crate::crowds::{begin_login, wait_for_body};
use crate::harness::{
    ADMIN, Connection, Daemon, Project, READ, User, cookie_of, password_of, soon,
};

const DELETED: &str = "/site-builder/api/deleted";
const HEALTH: &str = "/site-builder/api/erp-config/health";

/// A head that is asked again and again on one connection.
fn ask(connection: &mut Connection) -> Option<String> {
    connection.send(format!("GET {HEALTH} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
    let answer = connection.answer().expect_status(200);
    answer.header("Connection").map(str::to_owned)
}

#[test]
fn while_few_connections_are_left_each_answer_ends_its_own() {
    let daemon = Daemon::start_with(&["--connections-max=4"]);
    let mut resting: Vec<_> = (0..3).map(|_| daemon.connect()).collect();
    for connection in &mut resting {
        assert_eq!(ask(connection), None);
    }
    // So none of these waits until the pause of one that rests is over.
    for _ in 0..3 {
        let mut last = daemon.connect();
        assert_eq!(ask(&mut last).as_deref(), Some("close"));
        assert!(last.is_closed());
    }
}

/// Else who rests would have the others of an address refused, as where many come through one router.
#[test]
fn while_an_address_has_few_connections_left_each_answer_ends_its_own() {
    let daemon = Daemon::start_with(&["--connections-address-max=4"]);
    let mut resting: Vec<_> = (0..3).map(|_| daemon.connect()).collect();
    for connection in &mut resting {
        assert_eq!(ask(connection), None);
    }
    // One alone: its place is given back a moment after its end.
    let mut last = daemon.connect();
    assert_eq!(ask(&mut last).as_deref(), Some("close"));
    assert!(last.is_closed());
    // There are few left in all only of these.
    let daemon = Daemon::start_with(&["--connections-address-max=0"]);
    let mut resting: Vec<_> = (0..8).map(|_| daemon.connect()).collect();
    assert!(
        resting
            .iter_mut()
            .all(|connection| ask(connection).is_none())
    );
}

#[test]
fn a_48_of_ipv6_has_as_much_under_way_as_four_clients() {
    let daemon =
        Daemon::start_with(&["--connections-address-max=2", "--trusted-proxies=127.0.0.1"]);
    let client = |network: u16| format!("2001:db8:1:{network}::1");
    let begun = |address: &str| {
        let mut connection = begin_login(&daemon, address);
        wait_for_body(&mut connection);
        connection
    };
    let networks = (0..4).flat_map(|network| [network; 2]);
    let mut held: Vec<_> = networks.map(|network| begun(&client(network))).collect();
    let refused = begin_login(&daemon, &client(4)).answer();
    refused.assert_error(429, "too many requests at once; try again in 1 s");
    for other in ["2001:db8:2::1", "192.0.2.1"] {
        held.push(begun(other));
    }
    // What one of them gives back, another may have.
    held[0].send(b"{}");
    held[0].answer().assert_refused(400);
    soon(|| begin_login(&daemon, &client(4)).bytes(12) == b"HTTP/1.1 100");
}

#[test]
fn an_account_has_as_many_tokens_projects_of_a_token_and_sessions_as_allowed() {
    let daemon = Daemon::start_with(&[
        "--tokens-account-max=2",
        "--token-repos-max=1",
        "--sessions-account-max=2",
    ]);
    let eve = daemon.user("eve", &[]);
    Project::create(&eve, "a");
    Project::create(&eve, "b");
    let make = |repos: &[&str]| {
        let token = json!({ "name": "n", "repos": repos });
        eve.post("/site-builder/api/tokens", &token)
    };
    make(&["a.erp", "b.erp"]).assert_error(400, "malformed repos: it must have at most 1 entries");
    let first = make(&["a.erp"]).expect_status(201).json();
    let more = json!({ "repos": ["a.erp", "b.erp"] });
    let first = format!(
        "/site-builder/api/tokens/{}",
        first["tokenId"].as_str().unwrap()
    );
    let refused = eve.patch(&first, &more);
    refused.assert_error(400, "malformed repos: it must have at most 1 entries");
    make(&["*"]).expect_status(201);
    make(&["*"]).assert_error(400, "you have 2 tokens, the most allowed: revoke one first");
    let told = eve.get("/user/session").json();
    let limits = &told["limits"];
    assert_eq!(
        [&limits["tokens_max"], &limits["token_repos_max"]],
        [&json!(2), &json!(1)]
    );
    // The first session of three gives way.
    let second = daemon.session("eve");
    let third = daemon.login("eve", &password_of("eve")).expect_status(200);
    assert!(cookie_of(&third).starts_with("siteconf_session="));
    eve.get("/user/session").assert_refused(401);
    second.get("/user/session").expect_status(200);
}

#[test]
fn an_account_has_as_many_projects_and_a_project_as_many_branches_as_allowed() {
    let daemon = Daemon::start_with(&["--projects-account-max=2", "--branches-project-max=2"]);
    let eve = daemon.user("eve", &[]);
    let [first, _] = ["a", "b"].map(|name| Project::create(&eve, name));
    let make = |user: &User, name: &str| {
        user.post(
            &format!("{ADMIN}/projects"),
            &json!({ "name": name, "type": "erp" }),
        )
    };
    let full = "the account has 2 projects, the most allowed: delete one first";
    make(&eve, "c").assert_error(400, full);
    // What is there is told first: who asks again learns that it was made.
    let taken = make(&eve, "a").assert_refused(400);
    assert_ne!(taken, full);
    let others = Project::create(&daemon.session("admin"), "acme/others");
    // The service's own administrator gives what is to be given, and the trash gives nothing beyond it.
    let owner = json!({ "owner": "eve" });
    others
        .user
        .patch(&others.admin(""), &owner)
        .expect_status(200);
    eve.delete(&first.admin("")).assert_empty(204);
    let restore = |id: &str| {
        eve.request("POST", &format!("{DELETED}/{id}/restore"))
            .send()
    };
    restore("project-1").assert_error(400, full);
    make(&eve, "c").assert_error(400, full);
    eve.delete(&others.admin("")).assert_empty(204);
    restore("project-1").expect_status(200);

    let full = "the project has 2 branches, the most allowed: delete one first";
    let branch = |name: &str| eve.post(&first.admin("/branches"), &json!({ "name": name }));
    branch("main").expect_status(201);
    branch("next").expect_status(201);
    branch("third").assert_error(400, full);
    let taken = branch("main").assert_refused(400);
    assert_ne!(taken, full);
    eve.delete(&first.on("main", "")).assert_empty(204);
    branch("third").expect_status(201);
    restore("branch-1-1").assert_error(400, full);
    // The role for everything goes beyond it.
    let target = format!("{DELETED}/branch-1-1/restore");
    others
        .user
        .request("POST", &target)
        .send()
        .expect_status(200);
}

/// Why nothing more is made beside so many that are deleted, of which two are allowed.
fn full_of_deleted(whose: &str, count: u64, what: &str) -> String {
    format!(
        "{whose} has {count} deleted {what} that can still be restored, and no more are made from 2 on: wait until \
         some are forgotten (not before what the list of what was deleted says, as kept_until), or ask the operator of \
         the service, who can have them forgotten at once: siteconf gc --keep-deleted-days N"
    )
}

#[test]
fn an_account_with_as_many_deleted_projects_as_allowed_makes_no_more() {
    let daemon = Daemon::start_with(&["--projects-account-max=2"]);
    let eve = daemon.user("eve", &[]);
    let make = |user: &User, name: &str| {
        let project = json!({ "name": name, "type": "erp" });
        user.post(&format!("{ADMIN}/projects"), &project)
    };
    for _ in 0..2 {
        let project = Project::create(&eve, "a");
        eve.delete(&project.admin("")).assert_empty(204);
    }
    let full = full_of_deleted("the account", 2, "projects");
    make(&eve, "a").assert_error(400, &full);
    // Others are not concerned, nor are the commands; and what is there already is told as ever.
    make(&daemon.user("bob", &[]), "a2").expect_status(201);
    daemon.run(&["project", "create", "b.erp", "--owner", "eve"], "");
    assert_ne!(make(&eve, "b").assert_refused(400), full);
    // What is deleted comes back, and no deletion is refused.
    let restored = |id: &str| {
        let restore = format!("{DELETED}/{id}/restore");
        eve.request("POST", &restore).send().expect_status(200);
    };
    restored("project-1");
    for name in ["a", "b"] {
        let project = format!("{ADMIN}/projects/{name}.erp");
        eve.delete(&project).assert_empty(204);
    }
    let full = full_of_deleted("the account", 3, "projects");
    make(&eve, "c").assert_error(400, &full);
    daemon.run(&["gc", "--keep-deleted-days", "0"], "");
    make(&eve, "c").expect_status(201);
}

#[test]
fn a_project_with_as_many_deleted_branches_as_allowed_gets_no_more() {
    let daemon = Daemon::start_with(&["--branches-project-max=2"]);
    let eve = daemon.user("eve", &[]);
    let [first, other] = ["a", "b"].map(|name| Project::create(&eve, name));
    let make = |project: &Project, name: &str| {
        let branch = json!({ "name": name });
        eve.post(&project.admin("/branches"), &branch)
    };
    let delete = |name: &str| eve.delete(&first.on(name, "")).assert_empty(204);
    for _ in 0..2 {
        make(&first, "main").expect_status(201);
        delete("main");
    }
    let full = full_of_deleted("the project", 2, "branches");
    make(&first, "main").assert_error(400, &full);
    make(&other, "main").expect_status(201);
    daemon.run(&["branch", "create", &first.id, "next"], "");
    assert_ne!(make(&first, "next").assert_refused(400), full);
    let restore = format!("{DELETED}/branch-1-1/restore");
    eve.request("POST", &restore).send().expect_status(200);
    delete("main");
    delete("next");
    let full = full_of_deleted("the project", 3, "branches");
    make(&first, "main").assert_error(400, &full);
    daemon.run(&["gc", "--keep-deleted-days", "0"], "");
    make(&first, "main").expect_status(201);
}

#[test]
fn a_body_of_json_and_a_batch_are_as_large_as_allowed() {
    let daemon = Daemon::start_with(&[
        "--json-bytes-max=200",
        "--batch-bytes-max=2000",
        "--batch-actions-max=2",
    ]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let branch = |name: &str| {
        project
            .user
            .post(&project.admin("/branches"), &json!({ "name": name }))
    };
    branch("short").expect_status(201);
    branch(&"x".repeat(201)).assert_error(413, "the body is larger than 200 bytes");
    let save = |contents: &[&str]| {
        let actions = contents.iter().enumerate().map(|(at, content)| {
            json!({ "action": "create", "file_path": format!("{at}"), "content": content })
        });
        let batch = json!({ "actions": actions.collect::<Vec<Value>>() });
        project.user.post(&project.on("main", "/batch"), &batch)
    };
    save(&["", &"x".repeat(2000)]).assert_error(413, "the body is larger than 2000 bytes");
    save(&["", "", ""]).assert_error(400, "there are more than 2 actions");
    let archive = |sizes: &[usize]| {
        let mut tar = tar::Builder::new(Vec::new());
        for (at, size) in sizes.iter().enumerate() {
            let mut header = tar::Header::new_ustar();
            header.set_mode(0o644);
            header.set_size(*size as u64);
            let path = format!("t{at}");
            tar.append_data(&mut header, path, &vec![b'x'; *size][..])
                .unwrap();
        }
        let request = project.user.request("POST", &project.on("main", "/batch"));
        let request = request.header("Content-Type", "application/x-tar");
        request.body(tar.get_ref()).send()
    };
    archive(&[0, 0, 0]).assert_error(400, "there are more than 2 actions");
    archive(&[2000]).assert_error(413, "the body is larger than 2000 bytes");
    assert_eq!(project.versions("main"), [""; 0]);
    save(&["", "x"]).expect_status(200);
    let told = project.user.get("/user/session").json();
    let limits = &told["limits"];
    assert_eq!(
        [&limits["batch_bytes_max"], &limits["batch_actions_max"]],
        [&json!(2000), &json!(2)]
    );
}

#[test]
fn a_connection_carries_as_many_requests_as_allowed() {
    let daemon = Daemon::start_with(&["--requests-connection-max", "3"]);
    let mut connection = daemon.connect();
    let told: Vec<_> = (0..3).map(|_| ask(&mut connection)).collect();
    assert_eq!(told, [None, None, Some("close".to_owned())]);
    assert!(connection.is_closed());
    let unbounded = Daemon::start_with(&["--requests-connection-max", "0"]);
    let mut connection = unbounded.connect();
    assert!((0..20).all(|_| ask(&mut connection).is_none()));
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_is_given_up() {
    let daemon = Daemon::start_with(&["--write-s-max=1", "--log=info,siteconf::http::wire=debug"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    // More than the system holds for a connection.
    project
        .save("main", "a.bin", vec![b'x'; 16 << 20])
        .expect_status(201);
    let reader = daemon.reader(&project);
    let mut connection = daemon.connect();
    connection.send(&reader.request("GET", &project.raw("a.bin")).to_bytes());
    daemon.logged("connection ended");
    assert!(connection.rest().len() < 16 << 20);
    // Over HTTP/1.0 a good end would say that the answer is whole.
    let mut connection = daemon.connect();
    let archive = reader.request("GET", &project.read("/archive.tar?sha=main"));
    let archive = String::from_utf8(archive.to_bytes()).unwrap();
    connection.send(archive.replace("HTTP/1.1", "HTTP/1.0").as_bytes());
    soon(|| daemon.log().matches("connection ended").count() == 2);
    assert!(connection.is_broken_off());

    // So are those for whom there is no memory to read ahead, and who hold none while they are waited for.
    let mut crowd: Vec<_> = (0..60).map(|_| daemon.connect()).collect();
    for connection in &mut crowd {
        connection.send(&reader.request("GET", &project.raw("a.bin")).to_bytes());
    }
    soon(|| daemon.log().matches("connection ended").count() == 62);
    for mut connection in crowd {
        assert!(connection.rest().len() < 16 << 20);
    }
    let health = daemon.anonymous().get(&format!("{READ}/health"));
    health.expect_status(200);
}
