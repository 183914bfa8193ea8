//! What changes something.

use std::collections::BTreeMap;

use rand::RngExt;
use serde_json::{Value, json};

use super::reference::{
    self, Action, Branch, Branches, Files, Refusal, Right, act, is_blocked, version,
};
use super::run::{Run, compare};
use crate::harness::{Project, git_blob_id, md5_hex, segment};

impl Run<'_> {
    pub(super) fn put(&mut self) {
        let (who, branch, path) = (self.somebody(), self.branch_name(), self.path());
        let body = self.body();
        let condition = self.random.random_range(0..10);
        let target = self.project.file(branch, path);
        let mut request = self.user(who).request("PUT", &target);
        let stale = Some(tag("another body"));
        let known = self.known_branch(branch);
        // Of a path that cannot be, it is not said which of the two reasons comes first.
        let conditions = match known.filter(|it| !is_blocked(&it.files, path)) {
            None => [None, None],
            Some(branch) => match condition {
                0 => [branch.files.get(path).map(|body| tag(body)).or(stale), None],
                1 => [stale, None],
                2 => [None, Some("*".to_owned())],
                _ => [None, None],
            },
        };
        for (name, value) in ["If-Match", "If-None-Match"].iter().zip(&conditions) {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        self.note(format!(
            "{who} puts {path} on {branch}: {body:?}, {conditions:?}"
        ));
        let request = request.header("Content-Type", "application/octet-stream");
        let answer = request.body(body.as_bytes()).send();
        let right = self.right(who);
        let expected = self.on_branch(branch, right, |branch| {
            if is_blocked(&branch.files, path) {
                return Err(Refusal::Impossible);
            }
            let present = branch.files.get(path);
            let [if_match, if_none_match] = &conditions;
            let is_other = |tag_of: &String| present.is_none_or(|body| *tag_of != tag(body));
            if if_match.as_ref().is_some_and(is_other)
                || if_none_match.is_some() && present.is_some()
            {
                return Err(Refusal::Changed);
            }
            let created = present.is_none();
            let mut files = branch.files.clone();
            files.insert(path.to_owned(), body.clone());
            let (snapshot, unchanged) = branch.come_to(files);
            let digest = branch.digest();
            let said = json!({
                "path": path, "size": body.len(), "md5": md5_hex(body.as_bytes()), "id": git_blob_id(body.as_bytes()),
                "snapshot": snapshot, "created": created, "etag": tag(&body),
                "commit_id": digest[..40], "short_id": digest[..8], "unchanged": unchanged,
            });
            Ok((if created { 201 } else { 200 }, said))
        });
        compare(&answer, expected);
    }

    pub(super) fn delete(&mut self) {
        let (who, branch, path) = (self.somebody(), self.branch_name(), self.path());
        self.note(format!("{who} deletes {path} on {branch}"));
        let answer = self.user(who).delete(&self.project.file(branch, path));
        let right = self.right(who);
        let expected = self.on_branch(branch, right, |branch| {
            let mut files = branch.files.clone();
            files.remove(path).ok_or(Refusal::Absent)?;
            let (snapshot, unchanged) = branch.come_to(files);
            let digest = branch.digest();
            let said = json!({
                "path": path, "snapshot": snapshot,
                "commit_id": digest[..40], "short_id": digest[..8], "unchanged": unchanged,
            });
            Ok((200, said))
        });
        compare(&answer, expected);
    }

    pub(super) fn batch(&mut self) {
        let (who, branch) = (self.somebody(), self.branch_name());
        let count = self.random.random_range(1..=4);
        let actions: Vec<_> = (0..count).map(|_| self.action()).collect();
        self.note(format!("{who} does on {branch}: {actions:?}"));
        let said = json!({ "actions": actions.iter().map(in_json).collect::<Vec<_>>() });
        let answer = self
            .user(who)
            .post(&self.project.on(branch, "/batch"), &said);
        let right = self.right(who);
        let expected = self.on_branch(branch, right, |branch| {
            let files = act(&branch.files, &actions)?;
            let (snapshot, unchanged) = branch.come_to(files);
            let digest = branch.digest();
            let etags: BTreeMap<_, _> = actions
                .iter()
                .filter_map(Action::brings)
                .filter_map(|path| Some((path, tag(branch.files.get(path)?))))
                .collect();
            let said = json!({
                "snapshot": snapshot, "actions": actions.len(), "etags": etags,
                "commit_id": digest[..40], "short_id": digest[..8], "unchanged": unchanged,
            });
            Ok((200, said))
        });
        compare(&answer, expected);
    }

    pub(super) fn action(&mut self) -> Action {
        let (path, other) = (self.path().to_owned(), self.path().to_owned());
        // Whether a folder is there while it moves into itself is not said.
        let are_apart = !path.starts_with(&other) && !other.starts_with(&path);
        match self.random.random_range(0..4) {
            0 => Action::Create(path, self.body()),
            1 => Action::Update(path, self.body()),
            2 if are_apart => Action::Move(path, other),
            _ => Action::Delete(path),
        }
    }

    pub(super) fn roll_back(&mut self) {
        let (who, branch) = (self.somebody(), self.branch_name());
        let known = self.known_branch(branch).map_or(0, |it| it.snapshots.len());
        let to = self.random.random_range(0..=known + 1);
        let path = self.path();
        let alone = self.random.random_bool(0.3).then_some(path);
        let query = alone.map_or(String::new(), |path| format!("&path={}", segment(path)));
        let target = format!("/rollback?to={}{query}", version(to));
        self.note(format!("{who} rolls {branch} back to {to}, {alone:?}"));
        let answer = self
            .user(who)
            .request("POST", &self.project.on(branch, &target))
            .send();
        let right = self.right(who);
        let expected = self.on_branch(branch, right, |branch| {
            let state = branch.state(to)?;
            let files = match alone {
                None => state.clone(),
                Some(path) => reference::restored(&branch.files, state, path)?,
            };
            let (snapshot, unchanged) = branch.come_to(files);
            let digest = branch.digest();
            let said = json!({
                "restored": version(to), "snapshot": snapshot,
                "commit_id": digest[..40], "short_id": digest[..8], "unchanged": unchanged,
            });
            Ok((200, said))
        });
        compare(&answer, expected);
    }

    pub(super) fn add_branch(&mut self) {
        let (who, name, from) = (self.somebody(), self.branch_name(), self.branch_name());
        let from = self.random.random_bool(0.5).then_some(from);
        // Of two reasons to refuse it, it is not said which comes first.
        let from = from
            .filter(|from| self.known_branch(name).is_none() || self.known_branch(from).is_some());
        self.make_branch(who, name, from);
    }

    pub(super) fn make_branch(&mut self, who: usize, name: &str, from: Option<&str>) {
        self.note(format!("{who} makes {name} from {from:?}"));
        let mut wish = json!({ "name": name });
        if let Some(from) = from {
            wish["from"] = json!(from);
        }
        let answer = self.user(who).post(&self.project.admin("/branches"), &wish);
        let right = self.right(who);
        let made = self.model.open(right, Right::Change).and_then(|branches| {
            if branches.contains_key(name) {
                return Err(Refusal::Impossible);
            }
            let files = match from {
                None => Files::default(),
                Some(from) => branches.get(from).ok_or(Refusal::Absent)?.files.clone(),
            };
            let made = Branch {
                files,
                snapshots: Vec::new(),
            };
            let digest = made.digest();
            branches.insert(name.to_owned(), made);
            Ok(digest)
        });
        match made {
            Ok(digest) => {
                let said = answer.expect_status(201).json();
                assert_eq!(
                    (&said["name"], &said["commit"]["id"]),
                    (&json!(name), &json!(digest[..40]))
                );
            }
            Err(refusal) => compare(&answer, Err(refusal)),
        }
    }

    pub(super) fn remove_branch(&mut self) {
        let (who, name) = (self.somebody(), self.branch_name());
        self.note(format!("{who} deletes the branch {name}"));
        let answer = self.user(who).delete(&self.project.on(name, ""));
        let removed = self.model.open(self.right(who), Right::Change);
        let removed = removed.and_then(|branches| branches.remove(name).ok_or(Refusal::Absent));
        match removed {
            Ok(_) => answer.assert_empty(204),
            Err(refusal) => compare(&answer, Err(refusal)),
        }
    }

    /// The owner does: others would own what they make.
    pub(super) fn remove_or_make_project(&mut self) {
        if self.model.branches.take().is_some() {
            self.note("the project is deleted".to_owned());
            self.user(0)
                .delete(&self.project.admin(""))
                .assert_empty(204);
            self.user(0)
                .delete(&self.project.admin(""))
                .assert_refused(404);
        } else {
            self.note("the project is made anew".to_owned());
            let name = self.project.id.strip_suffix(".erp").unwrap().to_owned();
            self.project = Project::create(self.user(0), &name);
            self.model.branches = Some(Branches::default());
            self.model.generation += 1;
        }
    }
}

fn tag(body: &str) -> String {
    format!("\"{}\"", blake3::hash(body.as_bytes()).to_hex())
}

fn in_json(action: &Action) -> Value {
    match action {
        Action::Create(path, body) => {
            json!({ "action": "create", "file_path": path, "content": body })
        }
        Action::Update(path, body) => {
            json!({ "action": "update", "file_path": path, "content": body })
        }
        Action::Delete(path) => json!({ "action": "delete", "file_path": path }),
        Action::Move(from, path) => {
            json!({ "action": "move", "file_path": path, "previous_path": from })
        }
    }
}
