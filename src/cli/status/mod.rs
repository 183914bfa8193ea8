//! What an operator wants to know of a store at a glance, also of a damaged one: what can be told is told,
//! and the rest is a finding.

mod shown;

use std::sync::Arc;

use clap::Args;

use crate::access::{Account, Tokens};
use crate::base::build::BUILD;
use crate::base::clock::{CLOCK_DOUBT_S, DAY_S};
use crate::cli::first_start::key_fault;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::{visible_lines, visible_path};
use crate::cli::running::progress::Progress;
use crate::cli::settings::{Flags, STATUS, Settings};
use crate::cli::upkeep::collect::said;
use crate::cli::{Outcome, Result, Streams};
use crate::object::key;
use crate::repo::{Projects, Weights};
use crate::store::Scan;
use crate::store::engine::StoreAddress;
use crate::store::inspection::{
    self, CommonSettings, DaemonSeen, Inspectable, ObjectsHeld, Overview, Refusal,
};
use shown::{Bytes, Daemon, LastCollection, Service, Status};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Also count all objects, and walk all trees to tell the bytes that branches need, that only older states
    /// need, and that nothing needs; of a large store it takes long
    #[arg(long)]
    weigh: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) settings: Flags<STATUS>,
}

/// `status`. Exit code 1 where something must be done.
pub(super) fn show(
    args: &StatusArgs,
    settings: &Settings,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let status = gather(args.weigh, settings, opened, streams);
    if args.json {
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
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Status {
    let store = opened.inspectable();
    let Overview {
        format,
        advice,
        schema,
        service,
        build,
        kept_free,
        writes_refused,
        standby,
        database_bytes,
        unused_bytes,
        page_checksums,
        log_bytes,
        last_backup,
        last_collection,
    } = store.overview();
    let mut findings = Vec::from_iter(advice.clone());
    let schema = told(&mut findings, "the schema", schema).flatten();
    let service = told(&mut findings, "whether the service runs", service);
    let collection = told(&mut findings, "the last collection", last_collection).flatten();
    let backup = told(&mut findings, "the last backup", last_backup).flatten();
    let refusal_unread = writes_refused.is_err();
    let stopped = told(&mut findings, "why writes are refused", writes_refused).flatten();
    if stopped.is_none() {
        findings.extend(finding_of_mark(store));
    }
    let standby = told(&mut findings, "whether a standby follows", standby).flatten();
    if let Err(error) = store.require_files() {
        findings.push(format!("large files cannot be had: {error}"));
    }
    let free_bytes = store.free_bytes();
    let (objects, weights) = if weigh {
        weighed(&mut findings, opened, streams)
    } else {
        (None, None)
    };
    findings.extend(key_fault(opened, settings));
    findings.extend(finding_of_clock(&opened.projects));
    // A service that runs on a folder of an older format is one of an earlier version.
    let outdated = advice.filter(|_| service == Some(inspection::Service::Process(None)));
    let refused = why_refused(
        &mut findings,
        stopped,
        service.as_ref(),
        free_bytes.and_then(|free| finding_of_room(free, kept_free, settings)),
    )
    .or(outdated);
    let projects = store.count_records(key::PROJECTS);
    let projects = told(&mut findings, "projects", projects);
    let branches = told(&mut findings, "branches", count_branches(store));
    let accounts = opened.accounts.list();
    let accounts = told(&mut findings, "accounts", accounts);
    let tokens = accounts.as_deref().and_then(|accounts| {
        let tokens = count_tokens(&opened.projects, accounts);
        told(&mut findings, "tokens", tokens)
    });
    let database = told(&mut findings, "the room of the database", database_bytes);
    let unused = told(&mut findings, "free room in the database", unused_bytes).flatten();
    let of_checksums = "whether pages have checksums";
    let checksums = told(&mut findings, of_checksums, page_checksums).flatten();
    Status {
        data: match &*settings.store {
            StoreAddress::Folder(root) => visible_path(root),
            StoreAddress::Postgres(url) => url.to_string(),
        },
        version: BUILD.as_str(),
        format,
        schema,
        service: Service::of(service.as_ref(), build),
        daemons: service.as_ref().and_then(Daemon::all),
        standby,
        projects,
        branches,
        accounts: accounts.map(|accounts| accounts.len()),
        tokens,
        bytes: Bytes {
            database,
            unused,
            log: log_bytes,
            objects: objects.map(|held| held.bytes),
            files: objects.map(|held| held.large_bytes),
        },
        page_checksums: checksums,
        free_bytes,
        last_backup: backup.map(|at| at.to_string()),
        last_collection: collection.map(LastCollection::from),
        is_weighed: weigh,
        weights,
        writes_refused: refused,
        refusal_unread,
        findings,
    }
}

/// Counts all objects, then weighs them by a walk of all trees.
fn weighed(
    findings: &mut Vec<String>,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> (Option<ObjectsHeld>, Option<Weights>) {
    let mut progress = Progress::new(streams);
    progress.say(|| "objects are counted".to_owned());
    let objects = opened.inspectable().objects_held();
    let objects = told(findings, "sizes of files", objects);
    let weights = opened.weigh(|step| progress.say(|| said(step)));
    (objects, told(findings, "what is needed", weights))
}

/// What must be told of the mark by which lost commits are known, where changes are not refused for it. Where the
/// records cannot be read, that is told when they are counted.
fn finding_of_mark(store: &dyn Inspectable) -> Option<String> {
    let fault = store.lost_commits().ok().flatten()?;
    Some(format!(
        "{fault}: nothing tells whether the last commits are there; one that is damaged is made anew with the next \
         change"
    ))
}

/// What must be told of the time that the store knows of.
fn finding_of_clock(projects: &Projects) -> Option<String> {
    let ahead_s = projects.steady_clock().ahead_s();
    (ahead_s > CLOCK_DOUBT_S).then(|| {
        format!(
            "the store knows of a time that is {} days ahead of the machine's clock: sessions and tokens expire by it; \
             if the clock is right, start the service once with --trust-clock",
            ahead_s / DAY_S
        )
    })
}

/// What must be told of the room that is free on the disk, in bytes; true if saves are refused for it. A service that
/// runs may keep other room free than these settings say.
fn finding_of_room(
    free: u64,
    kept_free: Option<u64>,
    settings: &Settings,
) -> Option<(String, bool)> {
    let kept_free = kept_free.unwrap_or(settings.disk_free_min);
    let refuses = free < kept_free;
    let said = if refuses && kept_free != settings.disk_free_min {
        &format!(
            "less than disk_free_min, which is {kept_free} for the service that runs: saves are refused until there is \
             more, or it is started with a lower one"
        )
    } else if refuses {
        "less than disk_free_min: saves are refused until there is more, or it is set lower"
    } else if free < settings.disk_low_bytes {
        "less than disk_low_bytes: the service says that it is not ready, and refuses saves below \
         disk_free_min"
    } else {
        return None;
    };
    Some((
        format!("{free} bytes are free on the disk, {said}"),
        refuses,
    ))
}

/// Why changes are refused, by the first of all that does, each of which is a finding.
fn why_refused(
    findings: &mut Vec<String>,
    stopped: Option<Refusal>,
    service: Option<&inspection::Service>,
    room: Option<(String, bool)>,
) -> Option<String> {
    let mut refused = None;
    if let Some(Refusal { until, why }) = stopped {
        findings.push(format!("changes are refused until {until}: {why}"));
        refused = Some(why);
    }
    if let Some(inspection::Service::Daemons(seen)) = service {
        for daemon in seen {
            if let Some(refuses) = &daemon.refuses {
                findings.push(format!("the daemon on {} refuses {refuses}", daemon.host));
                if daemon.refuses_changes() {
                    refused = refused.or_else(|| Some(refuses.clone()));
                }
            }
        }
        findings.extend(finding_of_settings(seen));
    }
    if let Some((why, refuses)) = room {
        findings.push(why.clone());
        refused = refused.or(refuses.then_some(why));
    }
    refused
}

/// What must be told of settings that daemons do not have alike.
fn finding_of_settings(seen: &[DaemonSeen]) -> Option<String> {
    let places = seen.iter().map(|daemon| format!("on {}", daemon.host));
    let places: Vec<_> = places.collect();
    let settings = seen.iter().map(|daemon| &daemon.settings);
    let all = places.iter().map(String::as_str).zip(settings);
    let how = CommonSettings::differences(all)?;
    Some(format!(
        "the daemons differ in settings that must be the same: {how}; until they agree, no daemon removes anything by \
         them"
    ))
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

/// The tokens of all these accounts.
fn count_tokens(projects: &Projects, accounts: &[Arc<Account>]) -> Result<usize> {
    let tokens = Tokens::new(projects);
    let of_each = accounts
        .iter()
        .map(|account| Ok(tokens.list(account)?.len()));
    of_each.sum()
}

/// The branches of all projects, without those of deleted ones, which lie beside them.
fn count_branches(store: &dyn Inspectable) -> Result<u64> {
    let mut count = store.count_records(key::BRANCHES)?;
    for project in store.scan(Scan::prefix(key::DELETED_PROJECTS))? {
        let of_deleted = store.count_records(&key::branches(project.number()))?;
        // Others may delete and restore meanwhile.
        count = count.saturating_sub(of_deleted);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::cli::tests::Desk;

    #[test]
    fn objects_are_counted_only_where_that_is_asked_for() {
        let desk = Desk::with_project();
        let counted = |flags: &[&str]| {
            let ran = desk.run(&[&["status", "--json"], flags].concat());
            let mut shown: Value = serde_json::from_str(&ran.out).unwrap();
            ["objects", "files"].map(|of| shown["bytes"][of].take())
        };
        assert_eq!(counted(&[]), [Value::Null, Value::Null]);
        let [objects, files] = counted(&["--weigh"]);
        assert!(objects.as_u64() > Some(8), "{objects}");
        assert_eq!(files, 0);
        let lines = |flags: &[&str]| {
            let text = desk.run(&[&["status"], flags].concat()).out;
            let of_objects =
                |line: &&str| line.starts_with("objects ") || line.starts_with("large files ");
            let told = text.lines().filter(of_objects).map(str::to_owned);
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            lines(&[]),
            [
                "objects          not counted without --weigh",
                "large files      not counted without --weigh",
            ]
        );
        assert_eq!(
            lines(&["--weigh"]),
            [
                format!("objects          {objects} bytes"),
                "large files      0 bytes".to_owned(),
            ]
        );
    }
}
