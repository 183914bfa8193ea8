//! The service: opened, listening, stopped by a signal.

mod certificate;
mod common_settings;
mod facts;
mod forget;
mod keep_audit;
mod listen;
mod metrics;
mod notify;
mod process;
mod reload;
mod samples;
mod served_store;
mod service;
mod signals;
mod watchdog;

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::settings::{Exposed, Flags, SERVE, Settings, exposed_for_store};
use super::{Error, Result, Streams, bucket, engine, log, settings};
use crate::base::build::BUILD;
use crate::base::clock::{Clock, SystemClock};
use crate::http::Drain;
use crate::store::engine::StoreAddress;
use certificate::Certificate;
use forget::Forget;
use listen::Places;
use notify::Notifier;
use reload::Reload;
use served_store::ServedStore;
use service::Service;
use signals::Stop;

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

/// Looks whether the service could start with these settings, and opens neither its store nor a port. Gives what it
/// would be warned of.
///
/// # Errors
/// [`Error::Usage`] for all that is wrong.
pub(super) fn check(settings: &Settings) -> Result<Vec<Exposed>> {
    let mut wrong = log::wrong_settings(settings);
    wrong.extend(listen::wrong_places(settings));
    match &*settings.store {
        // An absent one is no fault: a start makes it.
        StoreAddress::Folder(root) => {
            if fs::metadata(root).is_ok_and(|found| !found.is_dir()) {
                wrong.push(settings.store.refuse("it must be a folder"));
            }
        }
        StoreAddress::Postgres(url) => {
            wrong.extend(engine::complete(url, settings).err());
            wrong.extend(engine::key_file(None, settings).err());
            wrong.extend(bucket::access(settings).err());
        }
    }
    settings::refuse(wrong)?;
    let mut found = exposed_for_store(settings);
    found.extend(certificate::exposed_key(&settings.tls_key));
    Ok(found)
}

/// Serves until SIGTERM or Ctrl-C, and for `drain_s` seconds more, then answers what is in flight. `shutdown_s` seconds
/// after that, and at a further signal, the process ends with exit code 1.
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
    for found in exposed_for_store(settings) {
        found.warn();
    }
    process::prepare(settings.limits.connections_max);
    let store = ServedStore::open(settings, flags, &clock, streams)?;
    let runtime = process::runtime()?;
    // Before anything is begun that a refused start would wait for.
    let bound = runtime.block_on(places.bind())?;
    let service = Service::over(store, clock, settings)?;
    let shown = bound.shown.join(" ");
    let status = format!("listening on {shown}");
    let notifier = Notifier::of_environment();
    let [drain, limit] = [settings.drain_s, settings.shutdown_s].map(Duration::from_secs);
    let stop = reload(&notifier, &status, reopen_log, certificate.clone())
        .start()
        .and_then(|reload| signals::watch(signals, drain, limit, rest_of_log.clone(), reload))
        .map_err(unwatched)?;

    service.start_tasks(&runtime, settings, certificate.clone(), &notifier);
    if let Some((listener, address)) = bound.metrics {
        let metrics = service.metrics(rest_of_log.lost_lines(), certificate);
        say(streams, format_args!("metrics on http://{address}/metrics"));
        tracing::info!(%address, "showing metrics");
        runtime.spawn(metrics.run(listener));
    }
    say_places(streams, &bound.shown, settings.external_url.as_deref());
    tracing::info!(address = shown, data = %settings.store, version = BUILD.as_str(), "serving");
    // Not before: a start that is refused says that alone.
    service.engine.advise();
    notifier.ready(&status);
    let begin = begin_stop(&notifier, &service.forget, service.server.drain());
    let stopping = stopping(stop, begin, drain, limit);
    runtime.block_on(service.server.run(bound.listeners, stopping));
    drop(bound.socket);
    // Waits for work whose client has left, and for the store.
    drop(runtime);
    drop(service.sampler);
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

/// Tells those who have to know that a stop begins.
fn begin_stop(notifier: &Notifier, forget: &Forget, drain: Drain) -> impl FnOnce() {
    move || {
        notifier.stopping();
        forget.end();
        drain.begin();
    }
}

/// Ends when nothing more is to be taken.
async fn stopping(stop: Stop, begin: impl FnOnce(), drain: Duration, limit: Duration) {
    drop(stop.begins.await);
    begin();
    if !drain.is_zero() {
        tracing::info!(
            drain_s = drain.as_secs(),
            "requests are taken for a while; a second signal ends that"
        );
    }
    drop(stop.is_due.await);
    tracing::info!(
        shutdown_s = limit.as_secs(),
        "stopping; a second signal ends at once"
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
