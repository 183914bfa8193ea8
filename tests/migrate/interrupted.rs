//! A move that is killed or interrupted at any moment can be repeated, and comes to the same end.

use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Instant;

use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::model::{Branch, Model, Scene, place};
use crate::rounds::Rounds;

fn model() -> Model {
    Model::new(&["ann", "bob"], 4, 8, 40, 20)
}

/// Everything that must be the same, whatever happened on the way.
fn end(scene: &Scene, model: &Model) -> Vec<Value> {
    let mut all = Vec::new();
    for (_, project, name) in model.branches.keys() {
        all.push(scene.json(&["debug", "history", &format!("{project}:{name}")]));
    }
    for mut token in scene.json(&["token", "list"]).as_array().unwrap().clone() {
        // Which number it has depends on what was made before.
        token
            .as_object_mut()
            .unwrap()
            .retain(|field, _| !matches!(field.as_str(), "id" | "tokenId"));
        all.push(token);
    }
    all
}

fn begin(scene: &Scene) -> Child {
    let mut command = scene.command(&[]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_move_that_is_killed_and_repeated_comes_to_the_same_end() {
    let model = model();
    let whole = Scene::start(&model);
    let began = Instant::now();
    whole.moved();
    let mut duration = began.elapsed();
    let expected = end(&whole, &model);

    let mut scene = Scene::start(&model);
    let rounds = Rounds::or(10);
    let (mut killed, mut is_whole) = (0, true);
    for round in 0..rounds.count {
        let moment = duration.mul_f64(rounds.random(round).random());
        let mut process = begin(&scene);
        let began = Instant::now();
        let mut ended = None;
        while ended.is_none() && began.elapsed() < moment {
            ended = process.try_wait().unwrap();
        }
        if let Some(ended) = ended {
            assert!(ended.success(), "{ended}");
            assert_eq!(end(&scene, &model), expected);
            if is_whole {
                // It takes less than it did beside the other tests.
                duration = began.elapsed();
            }
            // What follows would find nothing to move.
            (scene, is_whole) = (Scene::start(&model), true);
            continue;
        }
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        is_whole = false;
    }
    assert!(killed > 0, "no move was killed on its way");
    scene.moved();
    assert_eq!(end(&scene, &model), expected);
    let (code, _, told) = scene.run(&["--verify"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let check = scene
        .daemon
        .command(&["debug", "check", "--deep"])
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// Moves, and presses Ctrl-C on the way; what came of it. `None` if it was over by then.
fn interrupted(model: &Model) -> Option<(Scene, Output)> {
    let scene = Scene::start(model);
    let mut command = scene.command(&[]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().unwrap();
    // By then it watches for signals.
    while scene
        .json(&["project", "list"])
        .as_array()
        .unwrap()
        .is_empty()
    {
        thread::yield_now();
    }
    let id = i32::try_from(process.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    let ended = process.wait_with_output().unwrap();
    (!ended.status.success()).then_some((scene, ended))
}

#[test]
fn ctrl_c_ends_with_130_and_the_rest_follows() {
    let mut model = model();
    // Long enough to be met on its way.
    let branch = model
        .branches
        .get_mut(&place("bob", "acme/shop3.erp", "test"))
        .unwrap();
    for save in 0..300 {
        branch.save(save, "conf/0/new.xml");
    }
    let attempts = 20;
    let (scene, ended) = (0..attempts)
        .find_map(|_| interrupted(&model))
        .expect("a move that is not over before this test looks");
    let [told, said] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(
        (ended.status.code(), said.as_str()),
        (
            Some(130),
            "siteconf: interrupted; the same command goes on where it stopped\n"
        )
    );
    // What came by then.
    assert!(
        told.starts_with("account ann made\naccount bob made\nproject "),
        "{told}"
    );
    let (code, _, told) = scene.run(&["--verify"]);
    assert_eq!(code, 1, "{told}");
    scene.moved();
    let (code, _, told) = scene.run(&["--verify"]);
    assert_eq!((code, told.as_str()), (0, ""));
}

/// Of a branch with so many old snapshots some are laid before its head is read.
#[test]
fn what_came_of_a_branch_whose_head_cannot_be_taken_is_told() {
    let mut model = Model::default();
    let (place, mut branch) = (place("ann", "acme/shop.erp", "main"), Branch::default());
    for save in 0..=1000 {
        branch.save(save, "a.xml");
    }
    for name in ["FORMAT", "secrets", "store.db"] {
        // No folder is taken that may be a data folder.
        branch.head.insert(name.to_owned(), String::new());
    }
    model.branches.insert(place, branch);
    let scene = Scene::start(&model);
    let (code, out, told) = scene.run(&[]);
    assert_eq!(code, 1, "{told}");
    let made = "\nbranch acme/shop.erp:main made, with 1000 old snapshots\n";
    assert!(out.contains(made), "{out}");
}
