//! A comparison with the tree finds what is planted.

use std::fs;

use serde_json::json;

use crate::model::{Model, Scene, digest, place};

#[test]
fn every_planted_difference_is_named() {
    let mut model = Model::new(&["ann"], 2, 4, 8, 4);
    let scene = Scene::start(&model);
    let (code, _, told) = scene.run(&["--verify"]);
    let expected = "siteconf: owner \"ann\": there is no account ann\n\
                    siteconf: user/ann/acme/shop0.erp: the project is not here\n";
    assert_eq!(code, 1);
    assert!(told.starts_with(expected), "{told}");
    scene.moved();

    let main = place("ann", "acme/shop0.erp", "main");
    let branch = model.branches.get_mut(&main).unwrap();
    let old = branch.snapshots[1].clone();
    let state = &mut branch.snapshots[1].state;
    let changed = "conf/0/цены 0.xml".to_owned();
    state.insert(changed.clone(), "<0 1/>\n".to_owned());
    state.insert("more.xml".to_owned(), String::new());
    state.remove("conf/5/цены 5.xml").unwrap();
    let there = digest(state);
    branch.snapshots[0].created_at = "2024-01-01T00:00:00Z".to_owned();
    branch.snapshots[0].created_by = "eve".to_owned();
    model.tokens[1].line["name"] = json!("other");
    model.tokens[1].line["expires_at"] = json!("2030-01-01");
    scene.write(&model);
    let test = scene.tree().join("user/ann/acme/shop1.erp/test");
    fs::rename(&test, test.with_file_name("new")).unwrap();
    fs::remove_dir_all(scene.tree().join("user/ann/acme/shop1.erp/.snapshots/test")).unwrap();

    let (code, out, told) = scene.run(&["--verify"]);
    let main = "user/ann/acme/shop0.erp/.snapshots/main";
    let expected = [
        format!(
            "{main}/v0001: it has the date 2025-03-01T04:05:06.789Z here, 2024-01-01T00:00:00.000Z in \
             the tree"
        ),
        format!("{main}/v0001: its author is ann here, eve in the tree"),
        format!(
            "{main}/v0002: its digest is {} here, {there} in the tree",
            digest(&old.state)
        ),
        format!("{main}/v0002/{changed}: the file is another here"),
        format!("{main}/v0002/more.xml: the file is not here"),
        format!("{main}/v0002/conf/5/цены 5.xml: the file is only here"),
        "user/ann/acme/shop1.erp/new: the branch is not here".to_owned(),
        "acme/shop1.erp:test: the branch is only here".to_owned(),
        "/tokens.jsonl:2: it has another name here".to_owned(),
        "/tokens.jsonl:2: it ends at another time here".to_owned(),
    ];
    let expected = expected.map(|line| format!("siteconf: {line}"));
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    assert_eq!(code, 1);
    assert!(
        out.ends_with("and 3 tokens compared; 10 findings\n"),
        "{out}"
    );
}
