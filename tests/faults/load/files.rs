//! Saves and deletions, one by one and in batches.

use std::io;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;

use super::{FEW, Work, change, note_snapshot, read, text};
use crate::client::Client;
use crate::daemon::{file, on_branch};
use crate::told::{State, Told};

fn all(client: &mut Client, paths: impl Iterator<Item = String>) -> State {
    paths
        .filter_map(|path| Some((path.clone(), read(client, &file(&path))?)))
        .collect()
}

/// Files that are saved and deleted, small and large.
#[derive(Debug)]
pub(crate) struct Files(pub(crate) &'static str);

impl Files {
    fn path(&self, number: u64) -> String {
        format!("{}/{number}.xml", self.0)
    }
}

impl Work for Files {
    fn step(
        &mut self,
        client: &mut Client,
        told: &mut Told,
        random: &mut StdRng,
    ) -> io::Result<()> {
        let path = self.path(random.random_range(0..FEW));
        let mut after = told.last().clone();
        if after.contains_key(&path) && random.random_ratio(1, 4) {
            after.remove(&path);
            let delete = ("DELETE", &*file(&path), "", &b""[..]);
            let answer = change(client, told, after, delete)?;
            note_snapshot(told, answer.as_ref(), "delete");
        } else {
            let text = text(random);
            after.insert(path.clone(), text.clone());
            let put = (
                "PUT",
                &*file(&path),
                "application/octet-stream",
                text.as_bytes(),
            );
            let answer = change(client, told, after, put)?;
            note_snapshot(told, answer.as_ref(), "save");
        }
        Ok(())
    }

    fn found(&self, client: &mut Client) -> State {
        all(client, (0..FEW).map(|number| self.path(number)))
    }

    fn saves_to_main(&self) -> bool {
        true
    }
}

/// Files that are always changed all at once.
#[derive(Debug)]
pub(crate) struct Batches;

impl Batches {
    fn path(number: u64) -> String {
        format!("batch/{number}.xml")
    }
}

impl Work for Batches {
    fn step(
        &mut self,
        client: &mut Client,
        told: &mut Told,
        random: &mut StdRng,
    ) -> io::Result<()> {
        let mut after = told.last().clone();
        let (are_there, text) = (!after.is_empty(), text(random));
        let goes = are_there && random.random_ratio(1, 4);
        let actions: Vec<_> = (0..FEW)
            .map(|number| {
                let path = Self::path(number);
                if goes {
                    after.remove(&path);
                    return json!({ "action": "delete", "file_path": path });
                }
                after.insert(path.clone(), text.clone());
                let action = if are_there { "update" } else { "create" };
                json!({ "action": action, "file_path": path, "content": text })
            })
            .collect();
        let body = json!({ "actions": actions }).to_string();
        let target = on_branch("/batch");
        let batch = ("POST", &*target, "application/json", body.as_bytes());
        let answer = change(client, told, after, batch)?;
        note_snapshot(told, answer.as_ref(), "batch");
        Ok(())
    }

    fn found(&self, client: &mut Client) -> State {
        all(client, (0..FEW).map(Self::path))
    }

    fn saves_to_main(&self) -> bool {
        true
    }
}
