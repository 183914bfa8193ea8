//! Accounts and roles over the Admin API: contract section 6, "Accounts".

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, User, masked, password_of};

const ACCOUNTS: &str = "/site-builder/api/accounts";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";
const READONLY: &str = "ROLE_SITEBUILDER_EDITOR__READONLY";
const ACME: &str = "ROLE_SITEBUILDER_USER__acme";

fn account(name: &str, roles: &[&str], enabled: bool) -> Value {
    json!({ "name": name, "roles": roles, "enabled": enabled, "created_at": "<time>" })
}

/// The answer of a request that must end well, without what is another every time.
#[track_caller]
fn told(answer: &crate::harness::Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    masked(answer.json())
}

#[test]
fn root_makes_lists_changes_and_removes_accounts() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let new = json!({ "name": "vera", "password": "correct horse", "roles": [ACME, ACME] });
    let mut made = account("vera", &[ACME], true);
    made["password"] = Value::Null;
    assert_eq!(told(&admin.post(ACCOUNTS, &new), 201), made);
    daemon.login("vera", "correct horse").expect_status(200);
    let listed = told(&admin.get(ACCOUNTS), 200);
    let all = [
        account("admin", &[ROOT], true),
        account("vera", &[ACME], true),
    ];
    assert_eq!(listed, json!(all));

    let vera = format!("{ACCOUNTS}/vera");
    let mut whole = account("vera", &[ACME], true);
    whole["projects"] = json!([]);
    whole["tokens"] = json!(0);
    whole["sessions"] = json!(1);
    assert_eq!(told(&admin.get(&vera), 200), whole);

    let disabled = admin.patch(&vera, &json!({ "enabled": false }));
    assert_eq!(told(&disabled, 200), account("vera", &[ACME], false));
    daemon.login("vera", "correct horse").assert_refused(401);
    let enabled = admin.patch(&vera, &json!({ "enabled": true }));
    assert_eq!(told(&enabled, 200), account("vera", &[ACME], true));
    daemon.login("vera", "correct horse").expect_status(200);

    let renamed = admin.patch(&vera, &json!({ "name": "vega" }));
    assert_eq!(told(&renamed, 200), account("vega", &[ACME], true));
    admin
        .get(&vera)
        .assert_error(404, "there is no user \"vera\"");
    daemon.login("vega", "correct horse").expect_status(200);

    let vega = format!("{ACCOUNTS}/vega");
    admin.delete(&vega).assert_empty(204);
    admin
        .delete(&vega)
        .assert_error(404, "there is no user \"vega\"");
    daemon.login("vega", "correct horse").assert_refused(401);
    assert_eq!(
        told(&admin.get(ACCOUNTS), 200),
        json!([account("admin", &[ROOT], true)])
    );
}

#[test]
fn a_password_is_given_or_made_up_and_shown_once() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let made = admin.post(ACCOUNTS, &json!({ "name": "vera" }));
    let made = made.expect_status(201).json();
    let password = made["password"].as_str().unwrap();
    assert_eq!(password.len(), 32);
    let vera = daemon.login("vera", password).expect_status(200);
    let cookie = crate::harness::cookie_of(&vera);
    let target = format!("{ACCOUNTS}/vera/password");

    let again = admin
        .request("PUT", &target)
        .send()
        .expect_status(200)
        .json();
    let other = again["password"].as_str().unwrap();
    assert_ne!(other, password);
    daemon.login("vera", password).assert_refused(401);
    daemon.login("vera", other).expect_status(200);
    let old = daemon.anonymous().with("Cookie", &cookie);
    old.get("/user/session").assert_refused(401);

    let given = admin.request("PUT", &target);
    let given = given.json(&json!({ "password": "battery staple" })).send();
    let mut expected = account("vera", &[], true);
    expected["password"] = Value::Null;
    assert_eq!(told(&given, 200), expected);
    daemon.login("vera", "battery staple").expect_status(200);
    for secret in [password, other, "battery staple"] {
        let listed = format!(
            "{:?}{:?}",
            admin.get(ACCOUNTS),
            admin.get(&format!("{ACCOUNTS}/vera"))
        );
        assert!(!listed.contains(secret));
        let audit = daemon.command(&["audit", "--json"], "");
        assert!(!String::from_utf8(audit.stdout).unwrap().contains(secret));
        assert!(!daemon.log().contains(secret));
    }
}

#[test]
fn roles_are_given_and_taken_one_by_one() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let vera = daemon.user("vera", &[]);
    let shop = Project::create(&admin, "acme/shop");
    let at = |role: &str| format!("{ACCOUNTS}/vera/roles/{role}");
    vera.get(&shop.admin("")).assert_refused(403);
    for _ in 0..2 {
        let given = admin
            .request("PUT", &at("ROLE_SITEBUILDER_USER__acme%2Fshop"))
            .send();
        assert_eq!(
            told(&given, 200),
            account("vera", &["ROLE_SITEBUILDER_USER__acme/shop"], true)
        );
    }
    vera.get(&shop.admin("")).expect_status(200);
    let given = admin.request("PUT", &at(READONLY)).send();
    assert_eq!(
        given.json()["roles"],
        json!(["ROLE_SITEBUILDER_USER__acme/shop", READONLY])
    );
    // A proxy may have decoded the slash.
    let taken = admin.delete(&at("ROLE_SITEBUILDER_USER__acme/shop"));
    assert_eq!(told(&taken, 200), account("vera", &[READONLY], true));
    let absent = admin.delete(&at(ACME));
    absent.assert_error(404, "the account does not have this role");
    for wrong in ["ROLE_ADMIN", "root", "ROLE_SITEBUILDER_USER__", "%20"] {
        let refused = admin.request("PUT", &at(wrong)).send();
        refused.assert_refused(400);
        assert!(refused.text().contains("unknown role"), "{refused:?}");
    }
    admin
        .request("PUT", &format!("{ACCOUNTS}/vera/roles"))
        .send()
        .assert_refused(400);
    let nobody = format!("{ACCOUNTS}/nobody/roles/{ACME}");
    admin
        .request("PUT", &nobody)
        .send()
        .assert_error(404, "there is no user \"nobody\"");
}

#[test]
fn somebody_who_may_do_everything_is_left() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let last =
        format!("\"admin\" is the last account with the role {ROOT}; give it to another first");
    let own_role = format!("{ACCOUNTS}/admin/roles/{ROOT}");
    admin.delete(&own_role).assert_error(400, &last);
    let own = format!("{ACCOUNTS}/admin");
    let removed = "this is your own account: another with the role for everything can remove it";
    admin.delete(&own).assert_error(400, removed);
    let disabled = "this is your own account: another with the role for everything can disable it";
    admin
        .patch(&own, &json!({ "enabled": false }))
        .assert_error(400, disabled);
    let password = "this is your own account: PUT /user/password changes its password";
    let target = format!("{ACCOUNTS}/admin/password");
    admin
        .request("PUT", &target)
        .send()
        .assert_error(400, password);

    // One that is disabled does not count.
    let other = daemon.user("other", &[ROOT]);
    admin
        .patch(&format!("{ACCOUNTS}/other"), &json!({ "enabled": false }))
        .expect_status(200);
    admin.delete(&own_role).assert_error(400, &last);
    other.get(ACCOUNTS).assert_refused(401);
    admin
        .patch(&format!("{ACCOUNTS}/other"), &json!({ "enabled": true }))
        .expect_status(200);
    let other = daemon.session("other");
    other
        .patch(&own, &json!({ "enabled": false }))
        .expect_status(200);
    admin.get(ACCOUNTS).assert_refused(401);
    let last = last.replace("admin", "other");
    other
        .delete(&format!("{ACCOUNTS}/other/roles/{ROOT}"))
        .assert_error(400, &last);
    other.delete(&own).assert_empty(204);
}

/// Two who take the role from one another at once: one of them keeps it.
#[test]
fn of_two_who_take_the_role_from_each_other_one_has_it() {
    let daemon = Daemon::start();
    for round in 0..4 {
        let (left, right) = (format!("left-{round}"), format!("right-{round}"));
        let users = [&left, &right].map(|name| daemon.user(name, &[ROOT]));
        let admin = format!("{ACCOUNTS}/admin");
        let keeps = users[0].patch(&admin, &json!({ "enabled": false }));
        keeps.expect_status(200);
        let take = |user: &User, name: &str| {
            user.delete(&format!("{ACCOUNTS}/{name}/roles/{ROOT}"))
                .status
        };
        let statuses = std::thread::scope(|scope| {
            let one = scope.spawn(|| take(&users[0], &right));
            let other = scope.spawn(|| take(&users[1], &left));
            [one.join().unwrap(), other.join().unwrap()]
        });
        let roots = users.iter().filter(|user| user.get(ACCOUNTS).status == 200);
        assert_eq!(roots.count(), 1, "{statuses:?}");
        daemon.run(&["user", "enable", "admin"], "");
        for name in [&left, &right] {
            daemon.run(&["user", "remove", "--force", name], "");
        }
    }
}

#[test]
fn an_account_that_owns_something_is_not_removed() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let vera = daemon.user("vera", &[]);
    let target = format!("{ACCOUNTS}/vera");
    let projects = ["b", "a"].map(|name| Project::create(&vera, name));
    admin.delete(&target).assert_error(
        400,
        "\"vera\" owns 2 projects (a.erp); give each to another account first, or delete it",
    );
    for project in &projects {
        vera.delete(&project.admin("")).assert_empty(204);
    }
    let refused = admin.delete(&target).assert_refused(400);
    let begins = "\"vera\" owns 2 deleted projects (";
    assert!(refused.starts_with(begins), "{refused}");
    daemon
        .login("vera", &password_of("vera"))
        .expect_status(200);
}

#[test]
fn others_than_root_are_refused_and_learn_nothing() {
    let daemon = Daemon::start();
    let auditor = daemon.user("auditor", &[READONLY]);
    let vera = daemon.user("vera", &[ACME]);
    for user in [&auditor, &vera] {
        for name in ["vera", "admin", "nobody"] {
            let at = format!("{ACCOUNTS}/{name}");
            let role = format!("{at}/roles/{ROOT}");
            for answer in [
                user.get(&at),
                user.patch(&at, &json!({ "name": "x" })),
                user.delete(&at),
                user.request("PUT", &format!("{at}/password")).send(),
                user.request("PUT", &role).send(),
                user.delete(&role),
            ] {
                answer.assert_error(403, "your roles do not allow this");
            }
        }
        user.get(ACCOUNTS).assert_refused(403);
        user.post(ACCOUNTS, &json!({ "name": "x" }))
            .assert_refused(403);
        user.get(&format!("{ADMIN}/service")).assert_refused(403);
    }
    daemon.anonymous().get(ACCOUNTS).assert_refused(401);
    let anonymous = daemon.anonymous();
    let removed = anonymous.delete(&format!("{ACCOUNTS}/vera"));
    removed.assert_refused(401);
}

#[test]
fn bad_input_changes_nothing() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    daemon.add_account("vera", &[]);
    let long = "x".repeat(65);
    let huge = "x".repeat(2000);
    for body in [
        json!({}),
        json!([]),
        json!({ "name": "" }),
        json!({ "name": "a b" }),
        json!({ "name": long }),
        json!({ "name": "vera" }),
        json!({ "name": null }),
        json!({ "name": 1 }),
        json!({ "name": "x", "password": "short" }),
        json!({ "name": "x", "password": "x" }),
        json!({ "name": "x", "password": "passwordpassword" }),
        json!({ "name": "x", "password": huge }),
        json!({ "name": "x", "password": null }),
        json!({ "name": "x", "roles": ["root"] }),
        json!({ "name": "x", "roles": ROOT }),
        json!({ "name": "x", "role": ROOT }),
    ] {
        admin.post(ACCOUNTS, &body).assert_refused(400);
    }
    let vera = format!("{ACCOUNTS}/vera");
    for body in [
        json!({}),
        json!({ "name": "admin" }),
        json!({ "name": "v", "enabled": true }),
        json!({ "enabled": "no" }),
        json!({ "enabled": null }),
        json!({ "roles": [] }),
    ] {
        admin.patch(&vera, &body).assert_refused(400);
    }
    let password = format!("{vera}/password");
    for body in [
        json!({ "password": "short" }),
        json!({ "passwort": "correct horse" }),
    ] {
        admin
            .request("PUT", &password)
            .json(&body)
            .send()
            .assert_refused(400);
    }
    let nobody = format!("{ACCOUNTS}/nobody");
    for answer in [
        admin.patch(&nobody, &json!({ "enabled": false })),
        admin.request("PUT", &format!("{nobody}/password")).send(),
        admin.get(&nobody),
    ] {
        answer.assert_error(404, "there is no user \"nobody\"");
    }
    let conditional = admin.with("If-Match", "\"0\"");
    conditional.delete(&vera).assert_refused(412);
    let listed = told(&admin.get(ACCOUNTS), 200);
    let all = [account("admin", &[ROOT], true), account("vera", &[], true)];
    assert_eq!(listed, json!(all));
    daemon
        .login("vera", &password_of("vera"))
        .expect_status(200);
}
