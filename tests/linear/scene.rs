//! One history: a project, and all who work on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::client::{Client, segment};
use crate::expected::git_blob_id;
use crate::gate::Gate;
use crate::model::{Condition, Content, Files, body};

const ADMIN: &str = "/site-builder/api";
const READ: &str = "/site-builder/api/erp-config";

/// Numbers of contents and names: no other call of this process has the same.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A project with one branch.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) gate: &'a Gate,
    /// The project.
    pub(crate) id: String,
    /// What share of the calls changes something.
    pub(crate) changing: f64,
    known: Mutex<Known>,
}

/// What somebody was told last, so that calls mostly name what there is. Nothing is checked with it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) files: Files,
    pub(crate) snapshots: usize,
    pub(crate) commit: Option<String>,
    pub(crate) tokens: Vec<KnownToken>,
    pub(crate) tokens_made: usize,
    /// By git's ids.
    contents: HashMap<String, Content>,
}

/// A token: its number in the history, its id, its value.
#[derive(Clone, Debug)]
pub(crate) struct KnownToken {
    pub(crate) number: usize,
    pub(crate) id: String,
    pub(crate) value: String,
}

impl Known {
    /// Notes how many snapshots there are, and the commit id.
    pub(crate) fn branch(&mut self, snapshots: usize, commit: &str) {
        self.snapshots = self.snapshots.max(snapshots);
        self.commit = Some(commit.to_owned());
    }
}

impl<'a> Scene<'a> {
    /// Makes the project.
    pub(crate) fn make(gate: &'a Gate, changing: f64) -> Self {
        let name = format!("linear/history-{}", new_number());
        let scene = Self {
            gate,
            id: format!("{name}.erp"),
            changing,
            known: Mutex::default(),
        };
        let (mut admin, _) = gate.client(0);
        let project = json!({ "name": name, "type": "erp" });
        create(&mut admin, &format!("{ADMIN}/projects"), &project);
        let branches = scene.on_branch("").replace("/main", "");
        create(&mut admin, &branches, &json!({ "name": "main" }));
        scene
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    /// A content that is about to be saved.
    pub(crate) fn new_content(&self) -> Content {
        let content = new_number();
        let id = git_blob_id(body(content).as_bytes());
        self.known().contents.insert(id, content);
        content
    }

    /// The content that has this id of git's.
    pub(crate) fn content_of(&self, id: &str) -> Content {
        let known = self.known();
        *known
            .contents
            .get(id)
            .unwrap_or_else(|| panic!("nobody wrote {id}"))
    }

    /// The token of this number.
    pub(crate) fn token(&self, number: usize) -> KnownToken {
        let known = self.known();
        let token = known.tokens.iter().find(|token| token.number == number);
        token.expect("only those that are known are named").clone()
    }

    /// What is to hold of a file for a change of it: often that it is as it was last.
    pub(crate) fn condition(&self, path: usize, random: &mut StdRng) -> Condition {
        if random.random() {
            return Condition::None;
        }
        self.known().files[path].map_or(Condition::IsAbsent, Condition::Is)
    }

    /// A target of the Admin API below the project.
    pub(crate) fn admin(&self, rest: &str) -> String {
        format!("{ADMIN}/projects/{}{rest}", segment(&self.id))
    }

    /// A target of the Admin API below the branch.
    pub(crate) fn on_branch(&self, rest: &str) -> String {
        self.admin(&format!("/branches/main{rest}"))
    }

    /// A target of the Read API below the project.
    pub(crate) fn read(&self, rest: &str) -> String {
        format!("{READ}/projects/{}/repository{rest}", segment(&self.id))
    }
}

/// Creates something, once more where the database counts as away, as it does where somebody is held up for seconds:
/// then it may be there.
fn create(admin: &mut Client, target: &str, body: &Value) {
    let over = Instant::now() + Duration::from_mins(1);
    let mut is_again = false;
    loop {
        let made = admin.post(target, body);
        let exists = String::from_utf8_lossy(&made.body).contains("exists already");
        if made.status == 201 || (is_again && exists) {
            return;
        }
        assert!(made.status == 503 && Instant::now() < over, "{made:?}");
        is_again = true;
        thread::sleep(Duration::from_millis(50));
    }
}

/// The target of a token, or of all.
pub(crate) fn token(id: &str) -> String {
    format!("{ADMIN}/tokens{id}")
}

/// A number that is new.
pub(crate) fn new_number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}
