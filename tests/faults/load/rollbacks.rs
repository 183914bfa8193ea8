//! A branch of its own that is saved to, rolled back, deleted, and made anew.

use std::io;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;

use super::{Work, change, look, read, text};
use crate::client::{Client, segment};
use crate::daemon::on_branch;
use crate::told::{State, Told};

const FILES: [&str; 2] = ["a.xml", "folder/b.xml"];

/// What is done to the branch, and what its snapshots hold.
#[derive(Debug, Default)]
pub(crate) struct Rollbacks {
    /// Names are not used again: what was deleted keeps its own.
    made: u64,
    snapshots: Vec<(String, State)>,
}

/// A target below a branch of this name.
fn below(branch: &str, rest: &str) -> String {
    let branches = on_branch("").replace("/main", "");
    format!("{branches}/{branch}{rest}")
}

impl Work for Rollbacks {
    fn step(
        &mut self,
        client: &mut Client,
        told: &mut Told,
        random: &mut StdRng,
    ) -> io::Result<()> {
        let now = told.last().clone();
        let Some(branch) = now.get("branch") else {
            self.made += 1;
            self.snapshots.clear();
            let name = format!("own-{}", self.made);
            let body = json!({ "name": name }).to_string();
            let after = State::from([("branch".to_owned(), name)]);
            let target = on_branch("").replace("/main", "");
            let make = ("POST", &*target, "application/json", body.as_bytes());
            return change(client, told, after, make).map(drop);
        };
        let is_rolled_back = !self.snapshots.is_empty() && random.random_ratio(1, 3);
        if is_rolled_back {
            let at = random.random_range(0..self.snapshots.len());
            let (version, after) = self.snapshots[at].clone();
            let target = below(branch, &format!("/rollback?to={version}"));
            change(client, told, after, ("POST", &target, "", b"")).map(drop)
        } else if random.random_ratio(1, 12) {
            let delete = ("DELETE", &*below(branch, ""), "", &b""[..]);
            change(client, told, State::new(), delete).map(drop)
        } else {
            let path = FILES[random.random_range(0..FILES.len())];
            let (text, mut after) = (text(random), now.clone());
            after.insert(path.to_owned(), text.clone());
            let target = below(branch, &format!("/files/{}", segment(path)));
            let save = ("PUT", &*target, "application/octet-stream", text.as_bytes());
            if let Some(answer) = change(client, told, after, save)? {
                let version = answer.json()["snapshot"].as_str().unwrap().to_owned();
                self.snapshots.push((version, now));
            }
            Ok(())
        }
    }

    fn found(&self, client: &mut Client) -> State {
        // One is there at most.
        let target = on_branch("").replace("/main", "");
        let branches = look(client, &target).json();
        let names = branches.as_array().unwrap().iter();
        let names = names.map(|branch| branch["name"].as_str().unwrap());
        let own: Vec<_> = names.filter(|name| name.starts_with("own-")).collect();
        let mut found = State::new();
        for branch in &own {
            found.insert("branch".to_owned(), (*branch).to_owned());
            for path in FILES {
                let target = below(branch, &format!("/files/{}", segment(path)));
                if let Some(text) = read(client, &target) {
                    found.insert(path.to_owned(), text);
                }
            }
        }
        assert!(own.len() < 2, "{own:?}");
        found
    }
}
