//! Room given back: objects that nothing leads to, removed.

use clap::Args;
use serde::Serialize;

use crate::base::clock::DAY_S;
use crate::cli::open_store::OpenStore;
use crate::cli::output::{self, counted};
use crate::cli::running::progress::Progress;
use crate::cli::running::stop::Stop;
use crate::cli::running::turn::Wait;
use crate::cli::settings::{Flags, GC};
use crate::cli::{Error, Outcome, Result, Streams};
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::repo::{Collected, CollectionStep, Damage, Deleted, Forgotten, Patience, Weights};
use crate::store::engine::Engine;

/// From so many free bytes on that stay in the database the report says how to get them back: 64 MiB.
const FREE_BYTES_TOLD: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(in crate::cli) struct Collect {
    /// Only say what would be removed
    #[arg(long, conflicts_with = "compact")]
    pub(in crate::cli) dry_run: bool,
    /// Then write the database anew, as small as it can be; the service must be stopped, and there
    /// must be room for twice what is left
    #[arg(long)]
    pub(in crate::cli) compact: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) wait: Wait,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<GC>,
}

/// What a collection did, as JSON.
#[derive(Debug, Serialize)]
struct Report {
    /// Null where the forgetting failed: some may be forgotten.
    forgotten_projects: Option<u64>,
    forgotten_branches: Option<u64>,
    states: usize,
    removed_objects: u64,
    removed_bytes: u64,
    removed_files: u64,
    removed_records: u64,
    given_back_bytes: u64,
    free_bytes: u64,
    /// Null where the collection ended before anything was removed, or giving back failed.
    shrinks: Option<bool>,
    lost_files: u64,
    unindexed_objects: u64,
    /// True over PostgreSQL, of which this command gives no room back to the system.
    #[serde(skip)]
    is_remote: bool,
    /// The first of what failed behind the removal, or what asked it to end.
    #[serde(skip)]
    failed: Option<Error>,
}

/// What a collection would do, as JSON.
#[derive(Debug, Serialize)]
struct Preview {
    /// Deleted projects and branches that would be forgotten first. What only they need counts as what
    /// it was when they were deleted.
    forgotten: usize,
    #[serde(flatten)]
    weights: Weights,
}

/// `gc`.
pub(in crate::cli) fn collect(
    args: &Collect,
    keep_deleted_days: u64,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    // Of a database whose records are not restored yet everything would be what nothing needs.
    if opened.data_folder().is_none() && opened.accounts.is_empty()? {
        return Err(Error::Failed(
            "the store has no account, so it is not made or not restored whole; nothing was removed".to_owned(),
        ));
    }
    if args.dry_run {
        return preview(args.json, keep_deleted_days, opened, streams);
    }
    if args.compact {
        // The lock comes before the work, so that a service is not found only after it.
        let store = opened.embedded(
            "\"siteconf gc --compact\"",
            "leave it out; the server uses the room of what was removed again, and gives it back to its \
             system at VACUUM FULL siteconf.object, siteconf.record",
        )?;
        let alone = store.lock_out_service()?;
        let stop = Stop::watch(false)?;
        let before = store.size_bytes()?;
        let report = run(keep_deleted_days, args.wait, &stop, opened, streams)?;
        if report.failed.is_some() {
            return show(args.json, report, streams);
        }
        let asked = stop.clone();
        let failed = |report, error| Report {
            failed: Some(error),
            ..report
        };
        let after = match store.compact(&alone, move || asked.is_asked()) {
            Ok(true) => store.size_bytes().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        let report = match after {
            Ok(Some(after)) => Report {
                // With what the collection itself gave back.
                given_back_bytes: before.saturating_sub(after),
                free_bytes: 0,
                shrinks: Some(true),
                ..report
            },
            Ok(None) => failed(report, stop.name(Error::Failed("interrupted".to_owned()))),
            Err(error) => failed(report, error.into()),
        };
        return show(args.json, report, streams);
    }
    let stop = Stop::watch(false)?;
    let report = run(keep_deleted_days, args.wait, &stop, opened, streams)?;
    show(args.json, report, streams)
}

fn run(
    keep_deleted_days: u64,
    wait: Wait,
    stop: &Stop,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Report> {
    // First, so that what only it needed goes with this collection.
    let keep_s = keep_deleted_days.saturating_mul(DAY_S);
    let go_on = || !stop.is_asked();
    let forgotten = opened.projects.forget_deleted(keep_s, &go_on);
    let (forgotten, unforgotten) = match forgotten {
        Ok(forgotten) => (Some(forgotten), None),
        // A collection needs nothing of it.
        Err(error) => (None, Some(error)),
    };
    if stop.is_asked() {
        // What is marked cannot be restored any more, and some of it may be gone.
        return Err(behind_forgetting(stop.paused(), forgotten));
    }
    let patience = Patience::default();
    let mut progress = Progress::new(streams);
    let shown = |progress: &mut Progress<'_>, step| {
        progress.say(|| said(step));
        stop.flow()
    };
    let done = match opened.engine() {
        Engine::Embedded(store) => wait
            .begin_in_turn(stop, &mut progress, |progress| {
                let mut step = |step| shown(progress, step);
                opened.projects.collect(store.as_ref(), patience, &mut step)
            })
            .map_err(|e| stop.name(e)),
        #[cfg(feature = "fleet")]
        Engine::Postgres(store) => {
            let mut step = |step| shown(&mut progress, step);
            let collected = opened.projects.collect(store.as_ref(), patience, &mut step);
            collected.map_err(Error::from)
        }
    };
    let done = done.map_err(|error| behind_forgetting(error, forgotten))?;
    let Collected {
        states,
        removed,
        files,
        records,
        space,
        damage: Damage { lost, unindexed },
        failed,
        stopped,
    } = done;
    drop(progress);
    // Only at the end: what is removed, nobody could reach any more, and what made it so has its record.
    let told = AuditRecord {
        count: Some(removed.objects),
        detail: audit::detail(format!("{} bytes of objects removed", removed.bytes)),
        ..AuditRecord::new(opened.projects.clock().now(), &opened.actor, Action::Gc)
    };
    let untold = opened.projects.tell(&told).err();
    let stopped = stopped.then(|| {
        let said = "ended before its end; the next collection does the rest";
        stop.name(Error::Failed(said.to_owned()))
    });
    Ok(Report {
        forgotten_projects: forgotten.map(|forgotten| forgotten.projects),
        forgotten_branches: forgotten.map(|forgotten| forgotten.branches),
        states,
        removed_objects: removed.objects,
        removed_bytes: removed.bytes,
        removed_files: files,
        removed_records: records,
        given_back_bytes: space.map_or(0, |space| space.given_back),
        free_bytes: space.map_or(0, |space| space.kept),
        shrinks: space.map(|space| space.shrinks),
        lost_files: lost,
        unindexed_objects: unindexed,
        is_remote: opened.store.is_remote(),
        failed: stopped
            .or(unforgotten.map(Error::from))
            .or(failed.map(Error::from))
            .or(untold.map(Error::from)),
    })
}

/// The error of a collection, with what was forgotten before: that is gone for good, and no report tells of it.
fn behind_forgetting(error: Error, forgotten: Option<Forgotten>) -> Error {
    match forgotten {
        Some(Forgotten { projects, branches }) if projects + branches > 0 => {
            let projects = counted(projects, "project", "projects");
            let branches = counted(branches, "branch", "branches");
            Error::AfterChange {
                source: Box::new(error),
                made: format!(
                    "before that, of what was deleted {projects} and {branches} were forgotten"
                ),
            }
        }
        _ => error,
    }
}

fn show(json: bool, report: Report, streams: &mut Streams<'_>) -> Result<Outcome> {
    let written = if json {
        output::write_json(streams.out, &report)
    } else {
        show_text(&report, streams)
    };
    let written = output::of_change(written, streams.out, None);
    // What failed is more than what could not be told.
    if let Some(error) = report.failed {
        return Err(error);
    }
    written?;
    if report.lost_files == 0 && report.unindexed_objects == 0 {
        return Ok(Outcome::Fine);
    }
    if report.is_remote {
        streams.note(format_args!(
            "siteconf: the database is damaged: {} objects that states need are not there. \"siteconf debug \
             check\" names them; a backup of the database has them",
            report.lost_files
        ))?;
        return Ok(Outcome::Findings);
    }
    streams.note(format_args!(
        "siteconf: the store is damaged: files that states need were not found {} times, and {} objects \
         are not where the index says. They stay, and so does every file in blobs/. \"siteconf debug \
         check\" names them; \"siteconf backup\" and \"siteconf restore\" make the index anew",
        report.lost_files, report.unindexed_objects
    ))?;
    Ok(Outcome::Findings)
}

fn show_text(report: &Report, streams: &mut Streams<'_>) -> Result<()> {
    if let (Some(projects), Some(branches)) = (report.forgotten_projects, report.forgotten_branches)
        && projects + branches > 0
    {
        writeln!(
            streams.out,
            "{projects} deleted projects and {branches} deleted branches forgotten"
        )?;
    }
    if report.is_remote {
        write!(
            streams.out,
            "{} objects of {} bytes removed",
            report.removed_objects, report.removed_bytes
        )?;
        if report.removed_files > 0 {
            write!(
                streams.out,
                "; {} of them large files, which stay in the bucket for the days of blobs_keep_days",
                report.removed_files
            )?;
        }
        writeln!(streams.out)?;
        return Ok(());
    }
    writeln!(
        streams.out,
        "{} objects of {} bytes removed, {} of them files; {} bytes of the database given back",
        report.removed_objects, report.removed_bytes, report.removed_files, report.given_back_bytes
    )?;
    if report.shrinks == Some(false) {
        writeln!(
            streams.out,
            "The database was made by an earlier version and does not shrink: {} bytes in it are free \
             and will be used again. \"siteconf gc --compact\" with the service stopped writes it anew, \
             smaller; it needs room for twice what is left. From then on it shrinks by itself.",
            report.free_bytes
        )?;
    } else if report.failed.is_none() && report.free_bytes >= FREE_BYTES_TOLD {
        writeln!(
            streams.out,
            "{} bytes in the database are free, stay in it, and will be used again. \"siteconf gc --compact\" \
             with the service stopped gives them back; it needs room for twice what is left.",
            report.free_bytes
        )?;
    }
    Ok(())
}

fn preview(
    json: bool,
    keep_deleted_days: u64,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let keep_s = keep_deleted_days.saturating_mul(DAY_S);
    let last = opened.projects.deletions_over_at(keep_s);
    let is_over = |deleted: &Deleted| deleted.deleted_at() <= last;
    let forgotten = opened.projects.deleted(is_over)?.len();
    let mut progress = Progress::new(streams);
    let step = |step| progress.say(|| said(step));
    let weights = opened.weigh(step)?;
    drop(progress);
    if json {
        let preview = Preview { forgotten, weights };
        output::write_json(streams.out, &preview)?;
        return Ok(Outcome::Fine);
    }
    if forgotten > 0 {
        writeln!(
            streams.out,
            "{forgotten} deleted projects and branches would be forgotten, and what only they need be \
             removed, too: below it counts as needed"
        )?;
    }
    let Weights {
        live,
        old,
        unreachable,
    } = weights;
    writeln!(
        streams.out,
        "{} objects of {} bytes would be removed; branches need {} of {} bytes, older states {} more of \
         {} bytes",
        unreachable.objects, unreachable.bytes, live.objects, live.bytes, old.objects, old.bytes
    )?;
    Ok(Outcome::Fine)
}

pub(in crate::cli) fn said(step: CollectionStep) -> String {
    match step {
        CollectionStep::Marked(done, all) => format!("{done} of {all} states walked"),
        CollectionStep::Pruning(snapshots) => format!("{snapshots} snapshots of a branch"),
        CollectionStep::Removed(removed) => format!("{} objects removed", removed.objects),
        CollectionStep::GivenBack(bytes) => format!("{bytes} bytes given back"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};
    use crate::base::repo_id::RepoId;
    use crate::repo::{ProjectWriter, Projects};
    use crate::store::engine::{Purpose, StoreAddress};

    #[test]
    fn what_was_deleted_is_kept_for_its_days() {
        let folder = tempfile::tempdir().unwrap();
        let address = StoreAddress::Folder(folder.path().join("data"));
        let mut opened = OpenStore::of(Engine::open(&address, None, Purpose::Serve).unwrap());
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
        opened.projects = Projects::new(Arc::clone(&opened.store), Arc::clone(&clock) as Arc<_>);
        let repo_id = RepoId::parse("acme/shop.erp").unwrap();
        let project = opened.projects.create_project(&repo_id, 1, "alice");
        let writer = ProjectWriter::new(project.unwrap(), "alice");
        writer.delete_project().unwrap();
        for (days, expected) in [(29, 0), (2, 1)] {
            clock.advance_s(days * DAY_S);
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut streams = Streams::unseen(&mut out, &mut err);
            preview(true, 30, &opened, &mut streams).unwrap();
            let stop = Stop::watch(false).unwrap();
            let wait = Wait { wait_s: 0 };
            let report = run(30, wait, &stop, &opened, &mut streams).unwrap();
            assert_eq!(report.forgotten_projects, Some(expected));
            let would: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(would["forgotten"], expected);
        }
    }

    /// Of a collection that removed nothing and left so many bytes free.
    fn report(shrinks: bool, free_bytes: u64) -> Report {
        Report {
            forgotten_projects: Some(0),
            forgotten_branches: Some(0),
            states: 1,
            removed_objects: 0,
            removed_bytes: 0,
            removed_files: 0,
            removed_records: 0,
            given_back_bytes: 0,
            free_bytes,
            shrinks: Some(shrinks),
            lost_files: 0,
            unindexed_objects: 0,
            is_remote: false,
            failed: None,
        }
    }

    #[test]
    fn who_can_have_much_room_back_is_told_how() {
        let shown = |report| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let shown = show(false, report, &mut Streams::unseen(&mut out, &mut err));
            (shown.is_ok(), String::from_utf8(out).unwrap())
        };
        for (shrinks, free_bytes, told) in [
            (true, 0, None),
            (true, FREE_BYTES_TOLD - 1, None),
            (
                true,
                FREE_BYTES_TOLD,
                Some("67108864 bytes in the database are free"),
            ),
            (
                false,
                4096,
                Some("does not shrink: 4096 bytes in it are free"),
            ),
        ] {
            let (is_fine, said) = shown(report(shrinks, free_bytes));
            assert!(is_fine);
            assert_eq!(said.contains("gc --compact"), told.is_some(), "{said}");
            assert!(said.contains(told.unwrap_or_default()), "{said}");
        }
        // What one leaves that was ended, the next one gives back.
        let ended = Report {
            failed: Some(Error::Failed("ended".to_owned())),
            ..report(true, 100 << 20)
        };
        let (is_fine, said) = shown(ended);
        assert!(!is_fine && !said.contains("gc --compact"), "{said}");
    }
}
