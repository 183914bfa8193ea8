//! What is read, and by whom.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;

use rand::RngExt;
use serde_json::json;

use super::reference::{Branch, Refusal, Right, version};
use super::run::{Run, Token, compare, compare_file};
use crate::harness::{ADMIN, git_blob_id, paths, segment};

impl Run<'_> {
    pub(super) fn read_file(&mut self) {
        let (who, branch, path) = (self.somebody(), self.branch_name(), self.path());
        self.note(format!("{who} reads {path} of {branch}"));
        let answer = self.user(who).get(&self.project.file(branch, path));
        let files = self
            .branch_for(self.right(who), branch)
            .map(|it| it.files.clone());
        compare_file(
            &answer,
            files.and_then(|files| files.get(path).cloned().ok_or(Refusal::Absent)),
        );
    }

    pub(super) fn read_snapshot(&mut self) {
        let (who, branch, path) = (self.somebody(), self.branch_name(), self.path());
        let known = self.known_branch(branch).map_or(0, |it| it.snapshots.len());
        let number = self.random.random_range(0..=known + 1);
        self.note(format!("{who} reads {path} of {branch} at {number}"));
        let target = format!("/snapshots/{}/files/{}", version(number), segment(path));
        let answer = self.user(who).get(&self.project.on(branch, &target));
        let body = self.branch_for(self.right(who), branch).and_then(|branch| {
            branch
                .state(number)?
                .get(path)
                .cloned()
                .ok_or(Refusal::Absent)
        });
        compare_file(&answer, body);
    }

    pub(super) fn list(&mut self) {
        let (who, branch) = (self.somebody(), self.branch_name());
        self.note(format!("{who} lists {branch}"));
        let target = self.project.on(branch, "/tree?recursive=1");
        let answer = self.user(who).get(&target);
        let entries = self.branch_for(self.right(who), branch).map(entries);
        match entries {
            Ok(entries) => {
                let said = answer.expect_status(200).json();
                assert_eq!(
                    paths(&said)
                        .into_iter()
                        .map(str::to_owned)
                        .collect::<BTreeSet<_>>(),
                    entries
                );
            }
            Err(refusal) => compare(&answer, Err(refusal)),
        }
    }

    pub(super) fn issue_token(&mut self) {
        let is_there = self.model.branches.is_some();
        let is_wide = !is_there || self.random.random_bool(0.3);
        let repos = if is_wide { "*" } else { &self.project.id };
        let said = self
            .user(0)
            .issue(&json!({ "name": "model", "repos": [repos] }));
        let text = |field: &str| said[field].as_str().unwrap().to_owned();
        self.tokens.push(Token {
            id: text("tokenId"),
            // One address may not show many tokens that do not count.
            holder: self.people.daemon.token(&text("tokenString")).with(
                "X-Forwarded-For",
                &Ipv6Addr::from(u128::from(self.number + 1) << 64).to_string(),
            ),
            generation: (!is_wide).then_some(self.model.generation),
            is_revoked: false,
        });
        self.note(format!(
            "token {} is made, wide {is_wide}",
            self.tokens.len() - 1
        ));
    }

    pub(super) fn revoke_token(&mut self) {
        if self.tokens.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.tokens.len());
        self.note(format!("token {at} is revoked"));
        let target = format!("{ADMIN}/tokens/{}", self.tokens[at].id);
        let answer = self.user(0).delete(&target);
        if std::mem::replace(&mut self.tokens[at].is_revoked, true) {
            answer.assert_refused(404);
        } else {
            answer.assert_empty(204);
        }
    }

    pub(super) fn read_by_token(&mut self) {
        if self.tokens.is_empty() {
            return self.issue_token();
        }
        let at = self.random.random_range(0..self.tokens.len());
        let (branch, path) = (self.branch_name(), self.path());
        self.note(format!("token {at} reads {path} of {branch}"));
        let token = &self.tokens[at];
        let rest = format!("/files/{}/raw?ref={}", segment(path), segment(branch));
        let answer = token.holder.get(&self.project.read(&rest));
        if token.is_revoked {
            return answer.assert_error(401, "401 Unauthorized");
        }
        // A list still has the name of a project that is deleted, whatever has had it since.
        let covers = self.model.branches.is_none()
            || token
                .generation
                .is_none_or(|of| of == self.model.generation);
        let body = if covers {
            self.branch_for(Right::Read, branch)
                .and_then(|branch| branch.files.get(path).cloned().ok_or(Refusal::Absent))
        } else {
            Err(Refusal::Forbidden)
        };
        compare_file(&answer, body);
    }

    /// Holds every state of the project against the model, and gives back what it took.
    pub(super) fn compare_everything(&mut self) {
        self.note("all is compared".to_owned());
        for token in self.tokens.iter().filter(|token| !token.is_revoked) {
            let target = format!("{ADMIN}/tokens/{}", token.id);
            self.user(0).delete(&target).assert_empty(204);
        }
        let answer = self.user(0).get(&self.project.admin("/branches"));
        let Some(branches) = &self.model.branches else {
            return compare(&answer, Err(Refusal::Absent));
        };
        let said = answer.expect_status(200).json();
        let said = said.as_array().unwrap();
        let names: BTreeSet<_> = said
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, branches.keys().map(String::as_str).collect());
        for item in said {
            let name = item["name"].as_str().unwrap();
            let branch = &branches[name];
            let bytes: usize = branch.files.values().map(String::len).sum();
            let shown = ["files", "bytes", "snapshots"].map(|field| item[field].as_u64());
            let expected = [branch.files.len(), bytes, branch.snapshots.len()];
            assert_eq!(shown, expected.map(|number| Some(number as u64)), "{name}");
            assert_eq!(item["commit"]["id"], branch.digest()[..40], "{name}");
            assert_eq!(self.project.versions(name), branch.versions(), "{name}");
            for (number, state) in (1..).zip(&branch.snapshots) {
                let target = format!("/snapshots/{}/tree?recursive=1", version(number));
                let tree = self
                    .user(0)
                    .get(&self.project.on(name, &target))
                    .expect_status(200);
                let files = tree.json();
                let files = files
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|entry| entry["type"] == "blob");
                let files: BTreeSet<_> = files
                    .map(|entry| {
                        (
                            entry["path"].as_str().unwrap().to_owned(),
                            entry["id"].as_str().unwrap().to_owned(),
                        )
                    })
                    .collect();
                let expected = state
                    .iter()
                    .map(|(path, body)| (path.clone(), git_blob_id(body.as_bytes())))
                    .collect();
                assert_eq!(files, expected, "{name} at {number}");
            }
        }
    }
}

/// The files of a branch and their folders.
fn entries(branch: &Branch) -> BTreeSet<String> {
    let paths = branch.files.keys();
    let with_folders = paths.flat_map(|path| {
        let folders = path
            .match_indices('/')
            .map(|(slash, _)| path[..slash].to_owned());
        folders.chain([path.clone()])
    });
    with_folders.collect()
}
