//! Metrics of the store, the saves, the certificate and the log; those of requests are added where they
//! are shown.

use std::fmt;
use std::iter;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::certificate::Certificate;
use super::samples::{Counted, Samples};
use crate::base::build::COMMIT;
use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::cli::log::LostLines;
use crate::http::{Labels, Metrics, as_float};
use crate::repo::Projects;
use crate::store::sqlite::{Format, SqliteStore};

const HEADS: Labels<'static> = &[("by", "heads")];
const SNAPSHOTS: Labels<'static> = &[("by", "snapshots")];

/// What is shown at every scrape. Nothing here reads a record of a project, a session or a token: those
/// are counted once a minute ([`Samples`]).
#[derive(Debug)]
pub(super) struct OfStore {
    /// `None` where it lies in a database of PostgreSQL.
    pub(super) store: Option<Arc<SqliteStore>>,
    pub(super) projects: Projects,
    pub(super) lost_lines: LostLines,
    pub(super) samples: Arc<Samples>,
    pub(super) certificate: Option<Arc<Certificate>>,
}

impl Collector for OfStore {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut metrics = Metrics::new(encoder);
        self.of_build(&mut metrics)?;
        self.of_saves(&mut metrics)?;
        if let Some(store) = &self.store {
            of_commits(store, &mut metrics)?;
            of_files(store, &mut metrics)?;
        }
        self.of_certificate(&mut metrics)?;
        self.of_samples(&mut metrics)
    }
}

impl OfStore {
    fn of_build(&self, metrics: &mut Metrics<'_>) -> fmt::Result {
        let format = Format::CURRENT.to_string();
        let build = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("revision", COMMIT.unwrap_or("unknown")),
            ("format", format.as_str()),
        ];
        metrics.gauge(
            "siteconf_build_info",
            "1, with the version of the service, the commit that it was built from, and the format of its folder",
            iter::once((&build[..], 1.0)),
        )?;
        metrics.counter(
            "siteconf_log_lines_lost",
            "Lines of the log that nobody took or that could not be written",
            one(self.lost_lines.count()),
        )
    }

    fn of_saves(&self, metrics: &mut Metrics<'_>) -> fmt::Result {
        let saves = self.projects.save_counts();
        metrics.counter(
            "siteconf_saves",
            "Changes of branches that were made",
            [
                (&[("kind", "file")][..], saves.files.get()),
                (&[("kind", "deletion")], saves.deletions.get()),
                (&[("kind", "batch")], saves.batches.get()),
                (&[("kind", "rollback")], saves.rollbacks.get()),
                (&[("kind", "import")], saves.imports.get()),
            ],
        )
    }

    fn of_certificate(&self, metrics: &mut Metrics<'_>) -> fmt::Result {
        let certificate = self.certificate.as_ref();
        let ends_s = certificate.and_then(|certificate| certificate.ends_s());
        metrics.gauge(
            "siteconf_tls_certificate_expires_timestamp_seconds",
            "When the certificate of the TLS listener ends, in seconds since 1970",
            ends_s.map(|ends_s| (&[][..], as_float(ends_s))),
        )
    }

    fn of_samples(&self, metrics: &mut Metrics<'_>) -> fmt::Result {
        let Counted {
            census, objects, ..
        } = self.samples.last();
        let of_census = |value: Option<u64>| value.map(|value| (&[][..], as_float(value)));
        metrics.gauge(
            "siteconf_sessions",
            "Sessions that have not passed, counted once a minute",
            of_census(census.map(|census| census.sessions)),
        )?;
        metrics.gauge(
            "siteconf_tokens",
            "Tokens that have not expired, counted once a minute",
            of_census(census.map(|census| census.tokens)),
        )?;
        metrics.gauge(
            "siteconf_tokens_expiring",
            "Of these, those that expire within 30 days",
            of_census(census.map(|census| census.tokens_ending)),
        )?;
        let Some(objects) = objects else {
            return Ok(());
        };
        let counts: Vec<_> = objects
            .counts()
            .flat_map(|(kind, counts)| {
                let labels = ["row", "file"].map(|place| [("kind", kind.name()), ("place", place)]);
                labels.into_iter().zip(counts)
            })
            .filter(|(_, count)| count.objects > 0)
            .collect();
        metrics.gauge(
            "siteconf_objects",
            "Objects in the store, counted once a minute",
            counts
                .iter()
                .map(|(labels, count)| (&labels[..], as_float(count.objects))),
        )?;
        metrics.gauge(
            "siteconf_object_bytes",
            "Their bytes",
            counts
                .iter()
                .map(|(labels, count)| (&labels[..], as_float(count.bytes))),
        )
    }
}

/// Of the commits of the embedded engine.
fn of_commits(store: &SqliteStore, metrics: &mut Metrics<'_>) -> fmt::Result {
    let tallies = store.tallies();
    metrics.histogram(
        "siteconf_commit_batches",
        "How many changes shared a commit and its sync",
        1.0,
        iter::once((&[][..], &tallies.batches)),
    )?;
    metrics.histogram(
        "siteconf_commit_duration_seconds",
        "How long commits took, with their sync",
        1e9,
        iter::once((&[][..], &tallies.commits)),
    )?;
    metrics.histogram(
        "siteconf_checkpoint_duration_seconds",
        "How long copies of the log into the database took",
        1e9,
        iter::once((&[][..], &tallies.checkpoints)),
    )?;
    metrics.counter(
        "siteconf_commits_refused",
        "Changes that were not committed",
        [
            (&[("reason", "full")][..], tallies.refused_full.get()),
            (&[("reason", "busy")], tallies.refused_busy.get()),
            (&[("reason", "stopped")], tallies.refused_stopped.get()),
        ],
    )?;
    metrics.counter(
        "siteconf_store_reads",
        "Reads of the database: what no cache had",
        one(tallies.reads.get()),
    )
}

/// Of what the embedded engine takes on the disk.
fn of_files(store: &SqliteStore, metrics: &mut Metrics<'_>) -> fmt::Result {
    metrics.gauge(
        "siteconf_wal_bytes",
        "Length of the log's file, whose room is used again once its content is in the database",
        iter::once((&[][..], as_float(store.log_bytes()))),
    )?;
    metrics.gauge(
        "siteconf_database_bytes",
        "Length of the database",
        iter::once((&[][..], as_float(store.database_bytes()))),
    )?;
    let last_backup = store.data_folder().last_backup().ok().flatten();
    let age = last_backup.map(|at| (&[][..], age_s(at)));
    metrics.gauge(
        "siteconf_last_backup_age_seconds",
        "Age of the state that the last successful backup holds",
        age,
    )?;
    let kept = store.data_folder().last_collection().ok().flatten();
    metrics.gauge(
        "siteconf_kept_bytes",
        "Bytes of objects that the last collection kept, by the states that need them",
        kept.into_iter().flat_map(|kept| {
            let values = [(HEADS, kept.live_bytes), (SNAPSHOTS, kept.old_bytes)];
            values.map(|(labels, bytes)| (labels, as_float(bytes)))
        }),
    )?;
    metrics.gauge(
        "siteconf_last_collection_age_seconds",
        "Time since the last collection ended",
        kept.map(|kept| (&[][..], age_s(kept.at))),
    )
}

/// Seconds since a time.
fn age_s(at: Timestamp) -> f64 {
    let age_ms = SystemClock.now().ms().saturating_sub(at.ms());
    as_float(u64::try_from(age_ms).unwrap_or(0)) / 1e3
}

fn one(value: u64) -> impl Iterator<Item = (Labels<'static>, u64)> {
    iter::once((&[][..], value))
}
