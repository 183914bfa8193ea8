//! One run: a project of several people, and random steps on it.

use std::thread;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::Value;

use super::reference::{self, Branch, Branches, Refusal, Right};
use crate::harness::{Answer, Daemon, Project, User};

const BRANCHES: [&str; 3] = ["main", "test", "feature/x"];
/// Among them a folder of others, and a path below a file.
const PATHS: [&str; 9] = [
    "a.xml",
    "b.json",
    "dir/c.xml",
    "dir/d.xml",
    "dir/sub/e.xml",
    "dir",
    "a.xml/below",
    "Übersicht 1.xml",
    "100%+x.txt",
];

/// Somebody logged in.
#[derive(Debug)]
pub(super) struct Person {
    user: User,
    /// What they may do to a project of the group `team`.
    in_team: Right,
    /// What they may do to another project of the first of them.
    alone: Right,
}

/// All who take part. The first owns every project.
#[derive(Debug)]
pub(super) struct People<'a> {
    pub(super) daemon: &'a Daemon,
    pub(super) all: Vec<Person>,
}

impl<'a> People<'a> {
    pub(super) fn arrive(daemon: &'a Daemon) -> Self {
        use Right::{Change, Nothing, Read};
        let mut all = Vec::new();
        for (name, roles, in_team, alone) in [
            ("owner", &[][..], Change, Change),
            (
                "colleague",
                &["ROLE_SITEBUILDER_USER__team"],
                Change,
                Nothing,
            ),
            (
                "auditor",
                &["ROLE_SITEBUILDER_EDITOR__READONLY"],
                Read,
                Read,
            ),
            ("stranger", &[], Nothing, Nothing),
            ("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"], Change, Change),
        ] {
            let user = daemon.user(name, roles);
            all.push(Person {
                user,
                in_team,
                alone,
            });
        }
        Self { daemon, all }
    }
}

/// A token of the owner.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) id: String,
    pub(super) holder: User,
    /// Which of the projects that had the name it covers; `None` for all.
    pub(super) generation: Option<u32>,
    pub(super) is_revoked: bool,
}

pub(super) struct Run<'a> {
    pub(super) people: &'a People<'a>,
    pub(super) number: u64,
    pub(super) random: StdRng,
    pub(super) project: Project,
    is_in_team: bool,
    pub(super) model: reference::Project,
    pub(super) tokens: Vec<Token>,
    /// What was done so far.
    steps: Vec<String>,
}

impl Drop for Run<'_> {
    #[expect(clippy::print_stderr, reason = "cargo shows it of a test that fails")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("run {}:\n{}", self.number, self.steps.join("\n"));
        }
    }
}

/// What is answered: a status and a body.
pub(super) type Expected = Result<(u16, Value), Refusal>;

impl<'a> Run<'a> {
    pub(super) fn begin(people: &'a People<'a>, number: u64, mut random: StdRng) -> Self {
        let is_in_team = random.random();
        let group = if is_in_team { "team" } else { "alone" };
        let project = Project::create(&people.all[0].user, &format!("{group}/run-{number}"));
        let mut run = Self {
            people,
            number,
            random,
            project,
            is_in_team,
            model: reference::Project::default(),
            tokens: Vec::new(),
            steps: Vec::new(),
        };
        run.model.branches = Some(Branches::default());
        run.make_branch(0, "main", None);
        run
    }

    /// Does something.
    pub(super) fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..30 => self.put(),
            30..38 => self.delete(),
            38..48 => self.batch(),
            48..56 => self.roll_back(),
            56..62 => self.add_branch(),
            62..65 => self.remove_branch(),
            65..67 => self.remove_or_make_project(),
            67..73 => self.read_file(),
            73..77 => self.read_snapshot(),
            77..81 => self.list(),
            81..86 => self.issue_token(),
            86..89 => self.revoke_token(),
            _ => self.read_by_token(),
        }
    }

    /// Somebody, by number; every second time the owner.
    pub(super) fn somebody(&mut self) -> usize {
        if self.random.random() {
            0
        } else {
            self.random.random_range(0..self.people.all.len())
        }
    }

    pub(super) fn user(&self, who: usize) -> &'a User {
        &self.people.all[who].user
    }

    pub(super) fn right(&self, who: usize) -> Right {
        let person = &self.people.all[who];
        if self.is_in_team {
            person.in_team
        } else {
            person.alone
        }
    }

    pub(super) fn branch_name(&mut self) -> &'static str {
        // Most happens on the first.
        if self.random.random() {
            BRANCHES[0]
        } else {
            BRANCHES.choose(&mut self.random).unwrap()
        }
    }

    pub(super) fn path(&mut self) -> &'static str {
        PATHS.choose(&mut self.random).unwrap()
    }

    /// A body that no other run has.
    pub(super) fn body(&mut self) -> String {
        let number = self.random.random_range(0..6);
        if number == 0 {
            String::new()
        } else {
            format!("<run n=\"{}\">{number}</run>\n", self.number)
        }
    }

    pub(super) fn known_branch(&self, name: &str) -> Option<&Branch> {
        self.model.branches.as_ref()?.get(name)
    }

    pub(super) fn on_branch(
        &mut self,
        name: &str,
        right: Right,
        change: impl FnOnce(&mut Branch) -> Expected,
    ) -> Expected {
        let branches = self.model.open(right, Right::Change)?;
        change(branches.get_mut(name).ok_or(Refusal::Absent)?)
    }

    pub(super) fn branch_for(&mut self, right: Right, name: &str) -> Result<&Branch, Refusal> {
        let branches = self.model.open(right, Right::Read)?;
        branches.get(name).ok_or(Refusal::Absent)
    }

    pub(super) fn note(&mut self, step: String) {
        self.steps.push(step);
    }
}

#[track_caller]
pub(super) fn compare(answer: &Answer, expected: Expected) {
    match expected {
        Ok((status, body)) => answer.assert_json(status, &body),
        Err(refusal) => {
            answer.assert_refused(refusal as u16);
        }
    }
}

#[track_caller]
pub(super) fn compare_file(answer: &Answer, expected: Result<String, Refusal>) {
    match expected {
        Ok(body) => answer.assert_bytes(200, body.as_bytes()),
        Err(refusal) => {
            answer.assert_refused(refusal as u16);
        }
    }
}
