//! The ways to change contents, each held against the rules: contract section 6.

use std::fs;
use std::io::{Cursor, Write as _};

use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::{ADMIN, Daemon, User};
use crate::validation::{ROOT, one, ruled, set, state};

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

fn form(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, content) in files {
        let head = format!(
            "------b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        form.extend([head.as_bytes(), content, b"\r\n"].concat());
    }
    form.extend_from_slice(b"------b--\r\n");
    form
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of ways")]
fn every_way_to_change_contents_is_checked() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let (user, root) = (&project.user, daemon.user("root", &[ROOT]));
    // Saved while there was no rule.
    let rules = user.get(&project.admin("/validation")).json()["rules"].clone();
    set(&project, &json!([])).expect_status(200);
    project.save("main", "old.xml", b"<old>");
    project.save("main", "old.xml", b"<old/>");
    set(&project, &rules).expect_status(200);
    let before = state(&project);

    let files: &[(&str, &[u8])] = &[("conf/a.json", b"{\n  \"a\": 1,\n}"), ("b.xml", b"<b/>")];
    let broken = one("conf/a.json:3:1: rule 1 (json): key must be a string");
    let actions = json!({ "actions": [
        { "action": "create", "file_path": "conf/a.json", "content": "{\n  \"a\": 1,\n}" },
        { "action": "create", "file_path": "b.xml", "content": "<b/>" },
    ] });
    let batch = actions.to_string().into_bytes();
    let bodies = [
        (
            "PUT",
            project.file("main", "conf/a.json"),
            "application/octet-stream",
            files[0].1.to_vec(),
        ),
        (
            "POST",
            project.on("main", "/batch"),
            "application/json",
            batch,
        ),
        (
            "POST",
            project.on("main", "/batch"),
            "application/zip",
            zip(files),
        ),
        (
            "POST",
            project.on("main", "/batch"),
            "application/x-tar",
            tar(files),
        ),
        (
            "POST",
            project.on("main", "/batch"),
            "multipart/form-data; boundary=----b",
            form(files),
        ),
    ];
    for (method, target, kind, body) in &bodies {
        let send = |query: &str, who: &User| {
            let request = who.request(method, &format!("{target}{query}"));
            request.header("Content-Type", kind).body(body).send()
        };
        send("", user).assert_error(400, &broken);
        send("", &root).assert_error(400, &broken);
        send("?no_validate=1", user).assert_error(403, "your roles do not allow this");
    }
    let old = one("old.xml:1:1: rule 2 (xml): this element is not closed");
    let rollback = |query: &str| project.on("main", &format!("/rollback?to=v0002{query}"));
    user.request("POST", &rollback(""))
        .send()
        .assert_error(400, &old);
    for rehearsed in ["&path=old.xml", "&dry_run=1", "&dry_run=1&path=old.xml"] {
        user.request("POST", &rollback(rehearsed))
            .send()
            .assert_error(400, &old);
    }
    let rehearse = ["rollback", &project.id, "main", "v0002", "--dry-run"];
    let output = daemon.command(&rehearse, "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!("siteconf: {old}\n")
    );
    let rehearsed = [&rehearse[..], &["--no-validate"]].concat();
    assert!(daemon.command(&rehearsed, "").status.success());
    let root_rehearses = root.request("POST", &rollback("&dry_run=1&no_validate=1"));
    root_rehearses.send().expect_status(200);
    user.request("POST", &rollback("&no_validate=1"))
        .send()
        .assert_error(403, "your roles do not allow this");

    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("conf")).unwrap();
    fs::write(folder.path().join("conf/a.json"), files[0].1).unwrap();
    let folder = folder.path().to_str().unwrap();
    for branch in ["main", "new"] {
        let output = daemon.command(&["import", &project.id, branch, folder], "");
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("siteconf: {broken}\n"));
    }
    let branches = user.get(&project.admin("/branches")).json();
    assert_eq!(branches.as_array().unwrap().len(), 1);
    assert_eq!(state(&project), before, "what was refused changed nothing");

    // Passed over by who may, and told.
    for (method, target, kind, body) in &bodies {
        let request = root.request(method, &format!("{target}?no_validate=1"));
        let done = request.header("Content-Type", kind).body(body).send();
        if done.status >= 300 {
            // Created by the one before.
            assert!(done.assert_refused(400).contains("exists already"));
        }
    }
    root.request("POST", &rollback("&no_validate=1"))
        .send()
        .expect_status(200);
    daemon.run(
        &["import", &project.id, "main", folder, "--no-validate"],
        "",
    );
    let log = daemon
        .session("admin")
        .get(&format!("{ADMIN}/audit?limit=50"))
        .json();
    let told: Vec<_> = log["entries"]
        .as_array()
        .unwrap_or_else(|| log.as_array().unwrap())
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap().to_owned(),
                entry["detail"].clone(),
            )
        })
        // What was forbidden is noted a little later.
        .filter(|(action, _)| !matches!(action.as_str(), "login" | "forbidden"))
        .collect();
    let passed = json!("passed over the rules for contents");
    assert_eq!(
        told[..2],
        [
            ("import".to_owned(), passed.clone()),
            ("rollback".to_owned(), passed.clone())
        ],
        "{told:#?}"
    );
    assert!(told.contains(&("batch".to_owned(), passed)), "{told:?}");
}
