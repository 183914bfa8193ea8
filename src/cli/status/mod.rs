//! What an operator wants to know of a store at a glance, also of a damaged one: what can be told is told,
//! and the rest is a finding.

use serde::Serialize;

use clap::Args;

use crate::access::Tokens;
use crate::base::clock::Timestamp;
use crate::cli::collect::{Counted, said};
use crate::cli::engine::key_file_in;
use crate::cli::first_start::KeyState;
use crate::cli::opened::Opened;
use crate::cli::output;
use crate::cli::output::{visible_lines, visible_path};
use crate::cli::progress::Progress;
use crate::cli::settings::{Flags, STATUS, Settings};
use crate::cli::{Outcome, Result, Streams};
use crate::object::key;
use crate::store::sqlite::{ObjectCensus, SqliteStore};
use crate::store::{Scan, Store};

/// Rows of objects that are counted at a time: between two, a service copies its log.
const ROWS_AT_ONCE: u32 = 10_000;

#[derive(Debug, Args)]
pub(super) struct Wish {
    /// Also walk all trees to tell the bytes that branches need, that only older states need, and that
    /// nothing needs
    #[arg(long)]
    weigh: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) settings: Flags<STATUS>,
}

/// The state of a store, as JSON. What could not be told is `null`.
#[derive(Debug, Serialize)]
struct Status {
    data: String,
    version: &'static str,
    format: String,
    service: Service,
    projects: Option<u64>,
    branches: Option<u64>,
    accounts: Option<usize>,
    tokens: Option<usize>,
    bytes: Bytes,
    /// Room on the disk.
    free_bytes: Option<u64>,
    last_backup: Option<String>,
    last_collection: Option<LastCollection>,
    /// Of now, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Weights>,
    /// Why changes are refused; `None` where they are not.
    writes_refused: Option<String>,
    findings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Service {
    running: Option<bool>,
    pid: Option<u32>,
}

/// What the store takes on the disk.
#[derive(Debug, Serialize)]
struct Bytes {
    database: u64,
    /// Of the database, what is free and will be used again.
    unused: Option<u64>,
    log: u64,
    /// Large files.
    files: Option<u64>,
}

#[derive(Debug, Serialize)]
struct LastCollection {
    at: String,
    live_bytes: u64,
    old_bytes: u64,
}

/// The objects, by what needs them.
#[derive(Debug, Serialize)]
struct Weights {
    live: Counted,
    old: Counted,
    unreachable: Counted,
}

/// `status`. Exit code 1 where something must be done.
pub(super) fn show(
    wish: &Wish,
    settings: &Settings,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let store = opened.embedded(
        "\"siteconf status\"",
        "ask a daemon's /readyz whether it is well, and the database's server for its room",
    )?;
    let status = gather(wish.weigh, settings, opened, store, streams);
    if wish.json {
        output::write_json(streams.out, &status)?;
    } else {
        for (name, text) in status.lines() {
            writeln!(streams.out, "{name:16} {}", visible_lines(&text))?;
        }
    }
    Ok(if status.findings.is_empty() {
        Outcome::Fine
    } else {
        Outcome::Findings
    })
}

fn gather(
    weigh: bool,
    settings: &Settings,
    opened: &Opened,
    store: &SqliteStore,
    streams: &mut Streams<'_>,
) -> Status {
    let mut findings = Vec::new();
    let folder = store.data_folder();
    if folder.format().is_older() {
        findings.push(folder.format().advice(folder.root()));
    }
    let holder = told(&mut findings, "whether the service runs", folder.holder());
    let mut files = None;
    if let Some(census) = told(&mut findings, "sizes of files", count_objects(store)) {
        let in_files = census.counts().map(|(_, [_, file])| file.bytes);
        files = Some(in_files.sum());
    }
    let collection = folder.last_collection();
    let collection = told(&mut findings, "the last collection", collection).flatten();
    let backup = told(&mut findings, "the last backup", folder.last_backup()).flatten();
    let stopped = told(&mut findings, "why writes are refused", folder.stopped_by()).flatten();
    let free_bytes = store.free_bytes();
    let weights = if weigh {
        let mut progress = Progress::new(streams);
        let weights = opened
            .repository
            .weigh(store, |step| progress.say(|| said(step)));
        told(&mut findings, "what is needed", weights)
    } else {
        None
    };
    let key = KeyState::read(key_file_in(folder), store, &opened.accounts);
    findings.extend(key.map_or_else(|error| Some(error.to_string()), |key| key.fault()));
    if let Some(why) = &stopped {
        findings.push(format!(
            "changes are refused until the service is restarted: {why}"
        ));
    }
    if let Some(free) = free_bytes {
        findings.extend(finding_of_room(free, settings));
    }
    let records = |prefix| store.count_records(prefix);
    let projects = told(&mut findings, "projects", records(key::PROJECTS));
    let branches = told(&mut findings, "branches", count_branches(store));
    let accounts = opened.accounts.list();
    let accounts = told(&mut findings, "accounts", accounts);
    let tokens = accounts.as_ref().map(|accounts| {
        let tokens = Tokens::new(&opened.repository);
        let of_each = accounts
            .iter()
            .map(|account| Ok(tokens.list(account)?.len()));
        of_each.sum::<Result<usize>>()
    });
    let tokens = tokens.and_then(|tokens| told(&mut findings, "tokens", tokens));
    let unused = told(
        &mut findings,
        "free room in the database",
        store.unused_bytes(),
    );
    Status {
        data: visible_path(folder.root()),
        version: env!("CARGO_PKG_VERSION"),
        format: folder.format().to_string(),
        service: Service {
            running: holder.map(|holder| holder.is_some()),
            pid: holder.flatten(),
        },
        projects,
        branches,
        accounts: accounts.map(|accounts| accounts.len()),
        tokens,
        bytes: Bytes {
            database: store.database_bytes(),
            unused,
            log: store.log_bytes(),
            files,
        },
        free_bytes,
        last_backup: backup.map(|at| Timestamp::to_string(&at)),
        last_collection: collection.map(|kept| LastCollection {
            at: kept.at.to_string(),
            live_bytes: kept.live_bytes,
            old_bytes: kept.old_bytes,
        }),
        weights: weights.map(|weights| Weights {
            live: weights.live.into(),
            old: weights.old.into(),
            unreachable: weights.unreachable.into(),
        }),
        writes_refused: stopped,
        findings,
    }
}

/// What must be told of the room that is free on the disk, in bytes.
fn finding_of_room(free: u64, settings: &Settings) -> Option<String> {
    let said = if free < settings.disk_free_min {
        "less than disk_free_min: saves are refused until there is more, or it is set lower"
    } else if free < settings.disk_low_bytes {
        "less than disk_low_bytes: the service says that it is not ready, and refuses saves below \
         disk_free_min"
    } else {
        return None;
    };
    Some(format!("{free} bytes are free on the disk, {said}"))
}

/// What could be told; else a finding.
fn told<T, E: std::fmt::Display>(
    findings: &mut Vec<String>,
    what: &str,
    outcome: std::result::Result<T, E>,
) -> Option<T> {
    outcome
        .map_err(|error| findings.push(format!("{what} cannot be told: {error}")))
        .ok()
}

/// The branches of all projects, without those of deleted ones, which lie beside them.
fn count_branches(store: &SqliteStore) -> Result<u64> {
    let mut count = store.count_records(key::BRANCHES)?;
    for project in store.scan(Scan::prefix(key::DELETED_PROJECTS))? {
        count -= store.count_records(&key::branches(project.number()))?;
    }
    Ok(count)
}

fn count_objects(store: &SqliteStore) -> Result<ObjectCensus> {
    let mut census = ObjectCensus::default();
    while store.count_objects(&mut census, ROWS_AT_ONCE)? {}
    Ok(census)
}

impl Status {
    /// The lines for a person: what, and how it is.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        let number = |number: Option<u64>| or_unknown(number.map(|it| it.to_string()));
        let size = |size: Option<usize>| or_unknown(size.map(|it| it.to_string()));
        let service = match (self.service.running, self.service.pid) {
            (_, Some(pid)) => format!("running, process id {pid}"),
            (Some(false), None) => "not running".to_owned(),
            _ => "unknown".to_owned(),
        };
        let Bytes {
            database,
            unused,
            log,
            files,
        } = &self.bytes;
        let mut lines = vec![
            ("data", self.data.clone()),
            (
                "version",
                format!("{}, format {}", self.version, self.format),
            ),
            ("service", service),
            (
                "changes",
                match &self.writes_refused {
                    Some(_) => "refused".to_owned(),
                    None => "accepted".to_owned(),
                },
            ),
            ("projects", number(self.projects)),
            ("branches", number(self.branches)),
            ("accounts", size(self.accounts)),
            ("tokens", size(self.tokens)),
            (
                "database",
                format!("{database} bytes, {} of them unused", number(*unused)),
            ),
            ("log", format!("{log} bytes")),
            ("large files", format!("{} bytes", number(*files))),
            ("free on disk", format!("{} bytes", number(self.free_bytes))),
            (
                "last backup",
                self.last_backup
                    .clone()
                    .unwrap_or_else(|| "none".to_owned()),
            ),
            (
                "last collection",
                match &self.last_collection {
                    Some(kept) => format!(
                        "{}; branches needed {} bytes then, older states {} more",
                        kept.at, kept.live_bytes, kept.old_bytes
                    ),
                    None => "none".to_owned(),
                },
            ),
        ];
        if let Some(weights) = &self.weights {
            for (name, counted) in [
                ("branches need", weights.live),
                ("older states", weights.old),
                ("unneeded", weights.unreachable),
            ] {
                let Counted { objects, bytes } = counted;
                lines.push((name, format!("{bytes} bytes, {objects} objects")));
            }
        }
        let findings = self.findings.iter();
        lines.extend(findings.map(|finding| ("to do", finding.clone())));
        lines
    }
}
