//! Metrics as a text that Prometheus reads.

use std::fmt::{self, Write as _};
use std::iter;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::access::Writes;
use crate::base::cache::CacheUse;
use crate::base::may_block;
use crate::base::tally::{Count, Spread};
use crate::http::service::Service;

/// The type of the text.
pub(in crate::http) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Labels of a value, by name.
pub type Labels<'a> = &'a [(&'static str, &'a str)];

/// Writes metrics one after another.
#[derive(Debug)]
pub struct Metrics<'a>(DescriptorEncoder<'a>);

impl<'a> Metrics<'a> {
    /// Writes through this encoder.
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// A count that only rises; its name is shown with `_total`.
    pub fn counter<'v>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'v>, u64)>,
    ) -> fmt::Result {
        let kind = MetricType::Counter;
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in values {
            each(&mut metric, labels, |metric| {
                metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
            })?;
        }
        Ok(())
    }

    /// A value that rises and falls.
    pub fn gauge<'v>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'v>, f64)>,
    ) -> fmt::Result {
        let kind = MetricType::Gauge;
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in values {
            each(&mut metric, labels, |metric| metric.encode_gauge(&value))?;
        }
        Ok(())
    }

    /// How values spread; `unit` of them make one of what is shown.
    pub fn histogram<'v>(
        &mut self,
        name: &str,
        help: &str,
        unit: f64,
        values: impl IntoIterator<Item = (Labels<'v>, &'v Spread)>,
    ) -> fmt::Result {
        let kind = MetricType::Histogram;
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, spread) in values {
            let ranges = spread.ranges().map(|(bound, count)| {
                let bound = bound.map_or(f64::INFINITY, |bound| as_float(bound) / unit);
                (bound, count)
            });
            let ranges: Vec<_> = ranges.collect();
            let count = ranges.iter().map(|(_, count)| count).sum();
            let sum = as_float(spread.sum()) / unit;
            each(&mut metric, labels, |metric| {
                metric.encode_histogram::<NoLabelSet>(sum, count, &ranges, None)
            })?;
        }
        Ok(())
    }

    /// Caches: bytes and how many they may be, entries, hits and misses of each.
    fn caches(&mut self, uses: &[CacheUse]) -> fmt::Result {
        let labels: Vec<_> = uses.iter().map(|it| [("cache", it.name)]).collect();
        let all = || labels.iter().map(<[_; 1]>::as_slice).zip(uses);
        self.gauge(
            "siteconf_cache_bytes",
            "Bytes that a cache holds, where it counts them",
            all().filter_map(|(labels, it)| Some((labels, as_float(it.bytes?)))),
        )?;
        self.gauge(
            "siteconf_cache_bytes_max",
            "Most bytes that a cache may hold, where it counts them",
            all().filter_map(|(labels, it)| Some((labels, as_float(it.bytes_max?)))),
        )?;
        self.gauge(
            "siteconf_cache_entries",
            "Entries that a cache holds",
            all().map(|(labels, it)| (labels, as_float(it.entries))),
        )?;
        self.counter(
            "siteconf_cache_hits",
            "How often a cache had what was wanted",
            all().map(|(labels, it)| (labels, it.hits)),
        )?;
        self.counter(
            "siteconf_cache_misses",
            "How often a cache did not have what was wanted",
            all().map(|(labels, it)| (labels, it.misses)),
        )
    }
}

/// A number as the text shows it, exact up to 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is larger is not told apart on a chart"
)]
pub fn as_float(number: u64) -> f64 {
    number as f64
}

/// True as 1, false as 0.
pub fn as_flag(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

fn each(
    metric: &mut MetricEncoder<'_>,
    labels: Labels<'_>,
    encode: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    if labels.is_empty() {
        encode(metric)
    } else {
        encode(&mut metric.encode_family(&labels)?)
    }
}

/// All metrics of a registry as a text.
///
/// The library writes `OpenMetrics`, where a counter's name lacks the `_total` that its values have; in
/// the older text, which everything reads, the names must be equal.
pub(in crate::http) fn text(registry: &Registry) -> String {
    let mut open = String::with_capacity(64 << 10);
    // A string takes everything.
    let _infallible = encode_registry(&mut open, registry);
    let mut text = String::with_capacity(open.len() + 1024);
    let mut lines = open.lines().peekable();
    while let Some(line) = lines.next() {
        let head = line
            .strip_prefix("# HELP ")
            .and_then(|rest| rest.split_once(' '));
        let Some((name, help)) = head else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let kind = lines.next_if(|line| line.starts_with("# TYPE "));
        let kind = kind
            .and_then(|line| line.rsplit(' ').next())
            .unwrap_or("untyped");
        let suffix = if kind == "counter" { "_total" } else { "" };
        let _infallible = write!(
            text,
            "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"
        );
    }
    text
}

/// What this layer counts, and how the service is.
#[derive(Debug)]
pub(in crate::http) struct OfService(pub(in crate::http) Arc<Service>);

impl Collector for OfService {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (service, mut metrics) = (&*self.0, Metrics::new(encoder));
        of_requests(service, &mut metrics)?;
        of_clients(service, &mut metrics)?;
        of_state(service, &mut metrics)
    }
}

fn of_requests(service: &Service, metrics: &mut Metrics<'_>) -> fmt::Result {
    let requests = &service.tallies.requests;
    let counted: Vec<_> = requests
        .counted()
        .map(|it| (it, it.status.to_string()))
        .collect();
    let counted: Vec<_> = counted
        .iter()
        .map(|(it, status)| {
            let labels = [
                ("route", it.route),
                ("method", it.method),
                ("status", status.as_str()),
            ];
            (labels, it.count)
        })
        .collect();
    metrics.counter(
        "siteconf_http_requests",
        "Requests that were answered; a status that is not told apart is 599",
        counted
            .iter()
            .map(|(labels, count)| (labels.as_slice(), *count)),
    )?;
    let durations: Vec<_> = requests
        .durations()
        .map(|(route, spread)| {
            let labels = [("route", route.path()), ("method", route.method())];
            (labels, spread)
        })
        .collect();
    metrics.histogram(
        "siteconf_http_request_duration_seconds",
        "Time until an answer was made, before it was sent; HEAD counts as GET",
        1e9,
        durations
            .iter()
            .map(|(labels, spread)| (labels.as_slice(), *spread)),
    )?;
    let tallies = &service.tallies;
    metrics.counter(
        "siteconf_http_received_bytes",
        "Bytes from clients, heads and all",
        once(&tallies.bytes_in),
    )?;
    metrics.counter(
        "siteconf_http_sent_bytes",
        "Bytes to clients, heads and all",
        once(&tallies.bytes_out),
    )
}

fn of_clients(service: &Service, metrics: &mut Metrics<'_>) -> fmt::Result {
    let tallies = &service.tallies;
    metrics.gauge(
        "siteconf_http_connections",
        "Connections that are open",
        iter::once((&[][..], as_float(tallies.connections_open.get()))),
    )?;
    metrics.gauge(
        "siteconf_http_requests_waiting",
        "Requests that wait for a change",
        iter::once((&[][..], as_float(tallies.requests_waiting.get()))),
    )?;
    metrics.counter(
        "siteconf_http_connections_opened",
        "Connections by what became of them: one is refused when its client has all it may",
        [
            (
                &[("outcome", "served")][..],
                tallies.connections_taken.get(),
            ),
            (&[("outcome", "refused")], tallies.connections_refused.get()),
        ],
    )?;
    metrics.counter(
        "siteconf_http_accepts_failed",
        "How often a connection could not be accepted for want of open files or memory; it waits",
        once(&tallies.accepts_failed),
    )?;
    metrics.counter(
        "siteconf_tls_handshakes_failed",
        "Connections to the TLS listener that came to no TLS",
        once(&tallies.handshakes_failed),
    )?;
    metrics.counter(
        "siteconf_logins",
        "Logins by outcome: who is throttled must wait, and no password is looked at",
        [
            (&[("outcome", "right")][..], tallies.logins.get()),
            (&[("outcome", "wrong")], tallies.logins_wrong.get()),
            (&[("outcome", "throttled")], tallies.logins_throttled.get()),
        ],
    )?;
    metrics.counter(
        "siteconf_wrong_tokens",
        "Requests with a token that does not count, by outcome",
        [
            (&[("outcome", "refused")][..], tallies.tokens_wrong.get()),
            (&[("outcome", "throttled")], tallies.tokens_throttled.get()),
        ],
    )
}

fn of_state(service: &Service, metrics: &mut Metrics<'_>) -> fmt::Result {
    let state = may_block(|| service.health.look(&service.gate));
    let flag = |flag: bool| iter::once((&[][..], as_flag(flag)));
    let started_ms = u64::try_from(service.started_at.ms()).unwrap_or(0);
    metrics.gauge(
        "process_start_time_seconds",
        "When the service was started, in seconds since 1970 by the clock of its machine",
        iter::once((&[][..], as_float(started_ms) / 1e3)),
    )?;
    metrics.gauge(
        "siteconf_ready",
        "1 while /readyz is 200",
        flag(state.hindrances().is_empty()),
    )?;
    metrics.gauge(
        "siteconf_writes_refused",
        "1 while changes are refused: the disk is full, the database is away, or a write has failed",
        flag(state.writes != Writes::Taken),
    )?;
    metrics.gauge(
        "siteconf_disk_low",
        "1 while the disk of the store has less room than disk_low_bytes",
        flag(state.disk_low),
    )?;
    metrics.gauge(
        "siteconf_stopping",
        "1 while the service stops",
        flag(state.stopping),
    )?;
    let free = state.free_bytes.map(|bytes| (&[][..], as_float(bytes)));
    metrics.gauge(
        "siteconf_disk_free_bytes",
        "Room for the store on its file system",
        free,
    )?;
    let mut caches = service.gate.cache_uses();
    caches.push(service.rendered.cache_use());
    metrics.caches(&caches)
}

/// The one value of a counter without labels.
fn once(count: &Count) -> impl Iterator<Item = (Labels<'static>, u64)> {
    iter::once((&[][..], count.get()))
}
