//! The service: opened, listening, stopped by a signal.

mod certificate;
mod facts;
mod forget;
mod keep_audit;
mod listen;
mod metrics;
mod notify;
mod reload;
mod samples;
mod signals;
mod watchdog;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{MissedTickBehavior, interval};

use super::first_start::FirstPasswordFile;
use super::output::visible;
use super::settings::{Flags, SERVE, Settings};
use super::{Error, Result, Streams, bucket, engine, first_start, log, open_store, settings};
use crate::access;
use crate::access::{Accounts, Gate};
use crate::base::clock::{Clock, SystemClock};
use crate::base::limits::{BLOCKING_THREAD_IDLE_MS, BLOCKING_THREADS};
use crate::base::may_block;
use crate::base::secret::ServerKey;
use crate::http::{HttpSettings, Server};
use crate::repo::{Projects, SteadyClock, TICK_S};
use crate::store::engine::{Engine, Purpose, StoreAddress};
use crate::store::record_cache::RecordCache;
use crate::store::sqlite::{Folder, SqliteStore};
use crate::store::{Store, Writes};
use certificate::Certificate;
use facts::FactsOfStore;
use forget::Forget;
use listen::Places;
use metrics::OfStore;
use notify::Notifier;
use reload::Reload;
use samples::Sampler;

/// Room for the files that are open beside those of connections: the store's, large files that are written, the log.
const OWN_FILES: u64 = 512;

#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct ServeFlags {
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<SERVE>,
    /// Go on with another server key where the store's is lost for good; tokens that are bound to
    /// an instance are refused until they are reset
    #[arg(long)]
    pub(in crate::cli) new_server_key: bool,
    /// Take the machine's clock for right where the store knows of a later time, as after a start with a
    /// wrong clock: tokens that expired by that time count again
    #[arg(long)]
    pub(in crate::cli) trust_clock: bool,
}

/// Looks whether the service could start with these settings, and opens neither its store nor a port.
///
/// # Errors
/// [`Error::Usage`] for all that is wrong.
pub(super) fn check(settings: &Settings) -> Result<()> {
    let mut wrong = log::wrong_settings(settings);
    wrong.extend(listen::wrong_places(settings));
    if let StoreAddress::Postgres(url) = &settings.store {
        wrong.extend(engine::check_address(url, settings).err());
        wrong.extend(engine::key_file(None, settings).err());
        wrong.extend(bucket::access(settings).err());
    }
    settings::refuse(wrong)
}

/// Serves until SIGTERM or Ctrl-C, then answers what is in flight. After `shutdown_s` seconds, and at
/// a second signal, the process ends with exit code 1.
pub(super) fn serve(
    settings: &Settings,
    flags: &ServeFlags,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let unwatched = |e| Error::Failed(format!("watching for signals: {e}"));
    let signals = signals::keep().map_err(unwatched)?;
    let (rest_of_log, reopen_log) = log::of_service(settings)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let places = Places::of(settings, &clock)?;
    let certificate = places.certificate.clone();
    // Nobody else reads what lies in the folder.
    umask(Mode::RWXG | Mode::RWXO);
    raise_open_files(settings.limits.connections_max);
    keep_memory_out_of_files();

    let engine = engine::open(settings, Purpose::Serve)?;
    let cache = Arc::new(RecordCache::over(engine.store()));
    let store: Arc<dyn Store> = Arc::clone(&cache) as Arc<dyn Store>;
    let repository = access::projects(Arc::clone(&store), Arc::clone(&clock));
    let embedded = engine.embedded().cloned();
    let folder = embedded.as_ref().map(|store| store.data_folder());
    let key = begin(
        &engine,
        &repository,
        settings,
        flags.new_server_key,
        streams,
    )
    .map_err(|error| engine::of_opened(error, settings))?;
    let steady_clock = Arc::clone(repository.steady_clock());
    if flags.trust_clock {
        trust_clock(&steady_clock)?;
    }
    engine.show_signs_of_life();
    let runtime = runtime()?;
    // Before anything is begun that a refused start would wait for.
    let bound = runtime.block_on(places.bind())?;
    let shown = bound.shown.join(" ");
    let forget = Forget::new(repository.clone(), settings.keep_deleted_days);
    let audited = repository.clone();
    let gate = gate(settings, &repository, key, folder);
    let server = Server::new(gate.clone(), clock, http_settings(settings));
    let samples = Arc::default();
    let sampler = Sampler::start(Arc::clone(&samples), engine.clone(), gate)?;
    let facts = FactsOfStore::new(embedded.as_ref(), settings, &samples);
    server.tell(Arc::new(facts));
    let mut metrics = None;
    if let Some((listener, address)) = bound.metrics {
        let of_store = OfStore {
            store: embedded,
            projects: repository,
            lost_lines: rest_of_log.lost_lines(),
            samples,
            certificate: certificate.clone(),
        };
        metrics = Some((listener, address, server.metrics(of_store)));
    }

    let limit = Duration::from_secs(settings.shutdown_s);
    let notifier = Notifier::of_environment();
    let status = format!("listening on {shown}");
    let stop = reload(&notifier, &status, reopen_log, certificate.clone())
        .start()
        .and_then(|reload| signals::watch(signals, limit, rest_of_log.clone(), reload))
        .map_err(unwatched)?;
    runtime.block_on(async {
        tokio::spawn(keep_time(steady_clock));
        tokio::spawn(forget.clone().run());
        tokio::spawn(keep_audit::run(audited, settings.audit_keep_days));
        if let Some(certificate) = certificate {
            tokio::spawn(keep_certificate(certificate));
        }
        if let Some(within) = notifier.watchdog() {
            let probe = server.probe();
            let is_answered = move || {
                let probe = probe.clone();
                async move { probe.is_answered().await }
            };
            let has_writer = move || store.has_writer();
            let notifier = notifier.clone();
            tokio::spawn(watchdog::watch(notifier, within, is_answered, has_writer));
        }
        if let Some((listener, address, metrics)) = metrics {
            say(streams, format_args!("metrics on http://{address}/metrics"));
            tracing::info!(%address, "showing metrics");
            tokio::spawn(metrics.run(listener));
        }
        say_places(streams, &bound.shown, settings.external_url.as_deref());
        tracing::info!(address = shown, data = %settings.store, "serving");
        // Not before: a start that is refused says that alone.
        engine.advise();
        notifier.ready(&status);

        let stop = async {
            // The sender has nothing to send: that it is gone is the word.
            drop(stop.await);
            notifier.stopping();
            forget.end();
            tracing::info!(
                shutdown_s = limit.as_secs(),
                "stopping; a second signal ends at once"
            );
        };
        server.run(bound.listeners, stop).await;
        Ok::<_, Error>(())
    })?;
    drop(bound.socket);
    // Waits for work whose client has left, and for the store.
    drop(runtime);
    drop(sampler);
    tracing::info!("stopped");
    Ok(())
}

/// Tells whoever started the service where it listens. Somebody who no longer reads it ends no service:
/// the log has it, too.
fn say(streams: &mut Streams<'_>, line: fmt::Arguments<'_>) {
    let _said = writeln!(streams.out, "{line}").and_then(|()| streams.out.flush());
}

/// Tells where it listens, and the address of the page for a browser.
fn say_places(streams: &mut Streams<'_>, shown: &[String], external_url: Option<&str>) {
    for place in shown {
        say(streams, format_args!("listening on {place}"));
    }
    let mut places = shown.iter().map(String::as_str);
    if let Some(url) = external_url.or_else(|| places.find(|place| place.starts_with("http"))) {
        // Who listens on all addresses of a machine names none that a browser goes to.
        let url = url.replace("//0.0.0.0:", "//localhost:");
        let url = url.replace("//[::]:", "//localhost:");
        say(
            streams,
            format_args!("open {url}/site-builder/ in a browser"),
        );
    }
}

/// Puts the time that the store knows of back to that of the machine's clock, if it is ahead.
fn trust_clock(steady_clock: &SteadyClock) -> Result<()> {
    let ahead_s = steady_clock.ahead_s();
    if ahead_s > 0 {
        steady_clock.trust_clock()?;
        tracing::warn!(
            "the machine's clock is trusted: the time that the store knew of was {ahead_s} s ahead of it"
        );
    }
    Ok(())
}

/// Takes the server's key, and makes what the store needs before it is served. `renew_key` is as for
/// [`first_start::server_key`].
fn begin(
    engine: &Engine,
    repository: &Projects,
    settings: &Settings,
    renew_key: bool,
    streams: &mut Streams<'_>,
) -> Result<ServerKey> {
    let accounts = Accounts::new(repository).acting(open_store::actor());
    let folder = engine.embedded().map(|store| store.data_folder());
    let key_file = engine::key_file(folder, settings)?;
    if folder.is_none() {
        first_start::require_account(&accounts, settings)?;
    }
    let renewed = renew_key.then(|| engine.inspectable());
    let key = first_start::server_key(key_file, repository, &accounts, renewed)?;
    if let Some(store) = engine.embedded() {
        begin_in_folder(store, &accounts, settings, streams)?;
    }
    Ok(key)
}

/// What a store in a folder needs beyond its key before it is served.
fn begin_in_folder(
    store: &SqliteStore,
    accounts: &Accounts,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    first_start::first_account(store.data_folder(), accounts, streams)?;
    // Behind the first account, which a small disk must not keep anybody from.
    store.keep_free(settings.disk_free_min);
    if store.writes() == Writes::Full {
        say_little_room(streams, settings);
    }
    Ok(())
}

/// Tells what is refused for want of room, and what to do.
fn say_little_room(streams: &mut Streams<'_>, settings: &Settings) {
    say(
        streams,
        format_args!(
            "the disk of {} has less free room than disk_free_min, {} bytes: what adds content is \
             refused with 507 until there is more; on a small disk, set disk_free_min lower",
            visible(&settings.store.to_string()),
            settings.disk_free_min
        ),
    );
}

/// What SIGHUP does. The notifier is told when it begins and, with this status, that it is over.
fn reload(
    notifier: &Notifier,
    status: &str,
    reopen_log: impl FnMut() + Send + 'static,
    certificate: Option<Arc<Certificate>>,
) -> Reload {
    let mut reload = Reload::default();
    let begin = notifier.clone();
    reload.add(move || begin.reloading());
    reload.add(reopen_log);
    if let Some(certificate) = certificate {
        reload.add(move || certificate.read_again());
    }
    let (end, status) = (notifier.clone(), status.to_owned());
    reload.add(move || end.ready(&status));
    reload
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

fn gate(
    settings: &Settings,
    repository: &Projects,
    key: ServerKey,
    folder: Option<&Folder>,
) -> Gate {
    let repository = repository.clone().with_count_limits(settings.count_limits);
    let gate = Gate::new(repository, key, settings.sessions);
    let gate = gate.with_limits(settings.limits.accounts);
    match folder {
        Some(folder) => gate.with_first_password(Arc::new(FirstPasswordFile::of(folder))),
        None => gate,
    }
}

fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(Duration::from_millis(BLOCKING_THREAD_IDLE_MS))
        .build()
        .map_err(|e| Error::Failed(format!("starting the threads: {e}")))
}

/// Has the system write no core dump, which would hold passwords, tokens and the server key: the watchdog ends a process
/// by a signal that makes one. Who needs one raises the limit again (`prlimit --core=unlimited --pid`).
fn keep_memory_out_of_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // A byte: a program that takes dumps from the system, as Apport does, gets them at none, and no file is so short.
    let current = Some(maximum.map_or(1, |most| most.min(1)));
    let none = Rlimit { current, maximum };
    if let Err(e) = setrlimit(Resource::Core, none) {
        tracing::warn!(error = %e, "the limit of core dumps stays as it is");
    }
}

/// Lets the process have as many open files as the system allows it: each connection is one, and each large file
/// that is read another. The log is told where that is too little for so many connections.
fn raise_open_files(connections_max: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(e) => {
            tracing::warn!(error = %e, "the limit of open files stays as it is");
            current
        }
    };
    let needed = connections_max.saturating_add(OWN_FILES);
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "the system allows fewer open files than connections_max needs: raise its hard limit \
             (LimitNOFILE= of the unit, ulimit -Hn) or lower connections_max"
        );
    }
}
