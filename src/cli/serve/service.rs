//! The service over an open store, and what goes on beside its requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval};

use super::certificate::{self, Certificate};
use super::common_settings::CommonSetting;
use super::facts::FactsOfStore;
use super::forget::Forget;
use super::metrics::OfStore;
use super::notify::Notifier;
use super::samples::{Sampler, Samples};
use super::served_store::ServedStore;
use super::{keep_audit, watchdog};
use crate::access::Gate;
use crate::base::clock::Clock;
use crate::base::may_block;
use crate::base::secret::ServerKey;
use crate::cli::Result;
use crate::cli::first_start::FirstPasswordFile;
use crate::cli::log::LostLines;
use crate::cli::settings::Settings;
use crate::http::{HttpSettings, MetricsServer, Server};
use crate::repo::{Projects, SteadyClock, TICK_S};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::sqlite::Folder;

/// The service, which nothing listens for yet.
pub(super) struct Service {
    pub(super) engine: Engine,
    store: Arc<dyn Store>,
    projects: Projects,
    pub(super) server: Server,
    pub(super) forget: Forget,
    samples: Arc<Samples>,
    pub(super) sampler: Sampler,
}

impl Service {
    /// Makes it. What is in the store is counted from now on.
    ///
    /// # Errors
    /// [`Error::Failed`](crate::cli::Error::Failed) where the system has no thread for that.
    pub(super) fn over(
        store: ServedStore,
        clock: Arc<dyn Clock>,
        settings: &Settings,
    ) -> Result<Self> {
        let ServedStore {
            engine,
            store,
            projects,
            key,
        } = store;
        let embedded = engine.embedded();
        let folder = embedded.map(|store| store.data_folder());
        let gate = gate(settings, &projects, key, folder);
        let server = Server::new(gate.clone(), clock, http_settings(settings));
        let samples = Arc::default();
        let sampler = Sampler::start(Arc::clone(&samples), engine.clone(), gate)?;
        server.tell(Arc::new(FactsOfStore::new(embedded, settings, &samples)));
        Ok(Self {
            forget: Forget::new(projects.clone(), settings.keep_deleted_days),
            engine,
            store,
            projects,
            server,
            samples,
            sampler,
        })
    }

    /// Starts what goes on beside the requests.
    pub(super) fn start_tasks(
        &self,
        runtime: &Runtime,
        settings: &Settings,
        certificate: Option<Arc<Certificate>>,
        notifier: &Notifier,
    ) {
        runtime.spawn(keep_time(Arc::clone(self.projects.steady_clock())));
        let days = CommonSetting::keep_deleted_days(&self.engine, settings);
        runtime.spawn(self.forget.clone().run(days));
        runtime.spawn(keep_audit::run(
            self.projects.clone(),
            settings.audit_keep_days,
            CommonSetting::audit_keep_days(&self.engine, settings),
        ));
        if let Some(certificate) = certificate {
            runtime.spawn(keep_certificate(certificate));
        }
        if let Some(within) = notifier.watchdog() {
            let probe = self.server.probe();
            let is_answered = move || {
                let probe = probe.clone();
                async move { probe.is_answered().await }
            };
            let store = Arc::clone(&self.store);
            let has_writer = move || store.has_writer();
            let notifier = notifier.clone();
            runtime.spawn(watchdog::watch(notifier, within, is_answered, has_writer));
        }
    }

    /// Shows what it counts, and what the store, the log and the certificate tell.
    pub(super) fn metrics(
        &self,
        lost_lines: LostLines,
        certificate: Option<Arc<Certificate>>,
    ) -> MetricsServer {
        self.server.metrics(OfStore {
            store: self.engine.embedded().cloned(),
            projects: self.projects.clone(),
            lost_lines,
            samples: Arc::clone(&self.samples),
            certificate,
        })
    }
}

fn gate(settings: &Settings, projects: &Projects, key: ServerKey, folder: Option<&Folder>) -> Gate {
    let projects = projects.clone().with_count_limits(settings.count_limits);
    let gate = Gate::new(projects, key, settings.sessions);
    let gate = gate.with_limits(settings.limits.accounts);
    match folder {
        Some(folder) => gate.with_first_password(Arc::new(FirstPasswordFile::of(folder))),
        None => gate,
    }
}

fn http_settings(settings: &Settings) -> HttpSettings {
    HttpSettings {
        external_url: settings.external_url.clone(),
        hosts: settings.hosts.clone(),
        root_mount: settings.root_mount,
        trusted_proxies: settings.trusted_proxies.clone(),
        file_bytes_max: settings.file_bytes_max,
        archive_bytes_max: settings.archive_bytes_max,
        keep_deleted_days: settings.keep_deleted_days,
        limits: settings.limits,
        access_log: settings.access_log,
        reads: settings.reads,
        disk_low_bytes: settings.disk_low_bytes,
    }
}

/// Takes a new certificate when there is one.
async fn keep_certificate(certificate: Arc<Certificate>) {
    let mut ticks = interval(certificate::LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Usually two looks at files that the system knows; another thread takes this one's clients.
        may_block(|| certificate.look());
    }
}

/// Keeps the highest time that was seen.
async fn keep_time(clock: Arc<SteadyClock>) {
    let mut ticks = interval(Duration::from_secs(TICK_S));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        clock.tick();
    }
}
