//! Old snapshots keep their numbers, also beside those that are made here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::model::{Branch, Model, Scene, State, counts, lay, place};

const MAIN: &str = "acme/shop0.erp:main";

#[test]
fn a_number_that_was_made_up_here_and_given_there_is_named() {
    let mut model = Model::new(&["ann"], 1, 1, 2, 0);
    let scene = Scene::start(&model);
    scene.moved();
    let key = place("ann", "acme/shop0.erp", "main");
    let by_hand = |model: &mut Model, text: &str| {
        let head = &mut model.branches.get_mut(&key).unwrap().head;
        head.insert("by hand.xml".to_owned(), text.to_owned());
        scene.write(model);
    };
    by_hand(&mut model, "1");
    assert_eq!(counts(&scene.moved(), "changed"), [0, 0, 1, 0, 0]);
    by_hand(&mut model, "2");
    assert_eq!(counts(&scene.moved(), "changed"), [0, 0, 1, 0, 0]);
    assert_eq!(scene.versions(MAIN), ["v0001", "v0002", "v0003", "v0004"]);

    // The old system gives the same number to a state of its own.
    let branch = model.branches.get_mut(&key).unwrap();
    branch.save(2, "later.xml");
    scene.write(&model);
    for flags in [&["--dry-run"][..], &[]] {
        let (code, out, told) = scene.run(flags);
        let expected = "siteconf: user/ann/acme/shop0.erp/.snapshots/main/v0003: v0003 here holds a state \
                        of which the tree had no old snapshot; the branch stays as it is here, and comes \
                        with the tree's numbers after \"siteconf branch delete\", with --renew\n";
        assert_eq!((code, told.as_str()), (1, expected), "{flags:?}");
        assert!(out.ends_with("\n1 finding\n"), "{out}");
    }
    assert_eq!(scene.versions(MAIN).len(), 4);
    scene.done(&["branch", "delete", "acme/shop0.erp", "main"]);
    let (code, _, told) = scene.run(&["--renew"]);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(scene.versions(MAIN), ["v0001", "v0002", "v0003"]);
    scene.verified();
}

#[test]
fn numbers_go_on_above_those_that_were_made_up_here() {
    let mut model = Model::new(&["ann"], 1, 1, 2, 0);
    let scene = Scene::start(&model);
    scene.moved();
    let key = place("ann", "acme/shop0.erp", "main");
    let head = &mut model.branches.get_mut(&key).unwrap().head;
    head.insert("by hand.xml".to_owned(), String::new());
    let state = head.clone();
    scene.write(&model);
    scene.moved();
    // The old system has lost its v0003, and goes on with v0004.
    let history = scene.tree().join("user/ann/acme/shop0.erp/.snapshots/main");
    lay(&history.join("v0004"), &state);
    head_of(&mut model).insert("later.xml".to_owned(), String::new());
    lay(
        &scene.tree().join("user/ann/acme/shop0.erp/main"),
        head_of(&mut model),
    );
    scene.moved();
    assert_eq!(scene.versions(MAIN), ["v0001", "v0002", "v0003", "v0004"]);
}

#[test]
fn modes_alone_take_no_number() {
    let mut model = Model::new(&["ann"], 1, 1, 2, 0);
    let scene = Scene::start(&model);
    scene.moved();
    let change_mode = || {
        let file = scene
            .tree()
            .join("user/ann/acme/shop0.erp/main/conf/0/new.xml");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    change_mode();
    let (code, out, told) = scene.run(&["--dry-run", "--json"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    for report in [said, scene.moved()] {
        assert_eq!(counts(&report, "changed"), [0; 5], "{report}");
        assert_eq!(counts(&report, "unchanged"), [1, 1, 1, 0, 0], "{report}");
    }
    assert_eq!(scene.versions(MAIN), ["v0001", "v0002"]);

    let branch = model.branches.get_mut(&place_of_main()).unwrap();
    branch.save(2, "later.xml");
    scene.write(&model);
    change_mode();
    assert_eq!(counts(&scene.moved(), "made"), [0, 0, 0, 1, 0]);
    assert_eq!(scene.versions(MAIN), ["v0001", "v0002", "v0003"]);
    scene.verified();
}

fn head_of(model: &mut Model) -> &mut State {
    let key = place("ann", "acme/shop0.erp", "main");
    &mut model.branches.get_mut(&key).unwrap().head
}

/// A branch with so many old snapshots of one small file.
fn long(count: usize) -> Branch {
    let mut branch = Branch::default();
    branch.head.insert("a".to_owned(), String::new());
    for save in 0..count {
        branch.save(save, "a");
    }
    branch
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
}

/// A move that is stopped while it brings the first project. `None` if it had gone on to another by then.
fn stopped_at_the_first(model: &Model) -> Option<(Scene, Child)> {
    let scene = Scene::start(model);
    let mut command = scene.command(&[]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let listed = || scene.json(&["project", "list"]).as_array().unwrap().len();
    while listed() == 0 {
        thread::yield_now();
    }
    signal(&process, Signal::STOP);
    if listed() == 1 {
        return Some((scene, process));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    None
}

#[test]
fn a_save_there_while_a_branch_is_read_leaves_it_for_the_next_run() {
    let mut model = Model::new(&["ann"], 2, 2, 4, 0);
    // Long enough to be met on its way.
    let first = place("ann", "acme/shop0.erp", "main");
    for save in 0..300 {
        model.branches.get_mut(&first).unwrap().save(save, "a.xml");
    }
    let attempts = 20;
    let (scene, process) = (0..attempts)
        .find_map(|_| stopped_at_the_first(&model))
        .expect("a move that is met on its way");
    let last = place("ann", "acme/shop1.erp", "main");
    model.branches.get_mut(&last).unwrap().save(2, "later.xml");
    let branch = &model.branches[&last];
    let project = scene.tree().join("user/ann/acme/shop1.erp");
    lay(
        &project.join(".snapshots/main/v0003"),
        &branch.snapshots[2].state,
    );
    lay(&project.join("main"), &branch.head);
    signal(&process, Signal::CONT);
    let output = process.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let expected = "siteconf: user/ann/acme/shop1.erp/main: it was saved there while it was read; run this \
                    again\n";
    assert_eq!((output.status.code(), told.as_str()), (Some(1), expected));

    scene.write(&model);
    scene.moved();
    assert_eq!(
        scene.versions("acme/shop1.erp:main"),
        ["v0001", "v0002", "v0003"]
    );
    scene.verified();
}

#[test]
fn more_than_one_commit_takes_come_with_a_gap_where_one_ends() {
    let mut model = Model::new(&["ann"], 1, 0, 0, 0);
    let key = place("ann", "acme/shop0.erp", "main");
    model.branches.insert(key, long(1_003));
    let scene = Scene::start(&model);
    let history = scene.tree().join("user/ann/acme/shop0.erp/.snapshots/main");
    fs::remove_dir_all(history.join("v1001")).unwrap();
    fs::remove_file(history.join("v1001.json")).unwrap();
    let report = scene.moved();
    assert_eq!(counts(&report, "made"), [1, 1, 1, 1_002, 0]);
    scene.verified();
    assert_eq!(counts(&scene.moved(), "unchanged"), [1, 1, 1, 0, 0]);
}

/// What the tree never had is no loss; what is lost here is one.
#[test]
fn a_gap_of_the_tree_is_sound_and_one_that_comes_later_is_found() {
    let mut model = Model::new(&["ann"], 1, 0, 0, 0);
    let key = place("ann", "acme/shop0.erp", "main");
    model.branches.insert(key, long(6));
    let scene = Scene::start(&model);
    let history = scene.tree().join("user/ann/acme/shop0.erp/.snapshots/main");
    for version in ["v0002", "v0003"] {
        fs::remove_dir_all(history.join(version)).unwrap();
        fs::remove_file(history.join(format!("{version}.json"))).unwrap();
    }
    scene.moved();
    assert_eq!(scene.versions(MAIN), ["v0001", "v0004", "v0005", "v0006"]);
    scene.done(&["debug", "check", "--deep"]);
    scene.done(&["rollback", "acme/shop0.erp", "main", "v0001"]);
    scene.done(&["debug", "check", "--deep"]);

    let db = rusqlite::Connection::open(scene.daemon.data().join("store.db")).unwrap();
    let lost = "DELETE FROM record WHERE key LIKE 'snapshot/%5'";
    assert_eq!(db.execute(lost, []).unwrap(), 1);
    let mut check = scene
        .daemon
        .command(&["debug", "check", "--deep", "--json"]);
    let output = check.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let lost = "branch 1: its snapshots are not all up to the 7 it counts";
    assert_eq!(report["findings"], serde_json::json!([lost]));
}

/// What the tree had lost is none of the newest.
#[test]
fn a_rule_keeps_so_many_snapshots_and_not_so_many_numbers() {
    let mut model = Model::new(&["ann"], 1, 0, 0, 0);
    model.branches.insert(place_of_main(), long(6));
    let scene = Scene::start(&model);
    let history = scene.tree().join("user/ann/acme/shop0.erp/.snapshots/main");
    for version in ["v0003", "v0004", "v0005"] {
        fs::remove_dir_all(history.join(version)).unwrap();
        fs::remove_file(history.join(format!("{version}.json"))).unwrap();
    }
    scene.moved();
    let prune = |keep: &str, left: &[&str]| {
        let rule = ["prune", "--keep-snapshots", keep];
        let before = scene.versions(MAIN).len();
        let told = scene.json(&[&rule[..], &["--dry-run"]].concat());
        let goes = told[0]["snapshots"].as_u64().unwrap_or(0);
        assert_eq!(usize::try_from(goes).unwrap(), before - left.len());
        scene.done(&rule);
        assert_eq!(scene.versions(MAIN), left);
        let listed = scene.json(&["branch", "list", "acme/shop0.erp"]);
        assert_eq!(listed[0]["snapshots"], left.len());
    };
    prune("3", &["v0001", "v0002", "v0006"]);
    scene.done(&["rollback", "acme/shop0.erp", "main", "v0001"]);
    prune("4", &["v0001", "v0002", "v0006", "v0007"]);
    prune("3", &["v0002", "v0006", "v0007"]);
    prune("1", &["v0007"]);
    scene.done(&["debug", "check", "--deep"]);
}

#[test]
fn a_number_that_no_branch_can_go_on_from_is_refused() {
    let model = Model::new(&["ann"], 1, 1, 1, 0);
    let scene = Scene::start(&model);
    let history = scene.tree().join("user/ann/acme/shop0.erp/.snapshots/main");
    for version in ["v1000000000", "v18446744073709551615"] {
        lay(&history.join(version), &State::new());
    }
    let (code, _, told) = scene.run(&[]);
    let place = "user/ann/acme/shop0.erp/.snapshots/main";
    let told: Vec<_> = told.lines().collect();
    let expected = ["v1000000000", "v18446744073709551615"].map(|version| {
        format!(
            "siteconf: {place}/{version}: it is neither an old snapshot, as v0001, nor what is known of \
             one, as v0001.json; the highest is v999999999"
        )
    });
    assert_eq!(
        (code, told),
        (1, expected.iter().map(String::as_str).collect())
    );
    assert_eq!(scene.versions(MAIN), ["v0001"]);

    // The highest that there is, and what follows on it.
    lay(
        &history.join("v999999999"),
        &model.branches[&place_of_main()].head,
    );
    fs::remove_dir_all(history.join("v1000000000")).unwrap();
    fs::remove_dir_all(history.join("v18446744073709551615")).unwrap();
    scene.moved();
    let head = scene.tree().join("user/ann/acme/shop0.erp");
    scene.done(&[
        "import",
        "acme/shop0.erp",
        "main",
        &head.display().to_string(),
    ]);
    assert_eq!(scene.versions(MAIN)[..2], ["v0001", "v999999999"]);
}

fn place_of_main() -> (String, String, String) {
    place("ann", "acme/shop0.erp", "main")
}
