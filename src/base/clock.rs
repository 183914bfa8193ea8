//! Time: a point, its texts, and the clock that tests own.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize, Serializer};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use super::limits::CLOCK_SKEW_MAX_MS;

/// A day, in seconds.
pub const DAY_S: u64 = 24 * 3600;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// The last millisecond of the year 9999, beyond which RFC 3339 has no text.
const LAST_MS: i64 = 253_402_300_799_999;
/// A clock that moves by more than so many seconds at once is, or was, wrong (`objects-layout.md`,
/// "Time").
pub const CLOCK_DOUBT_S: u64 = 24 * 3600;
/// Numbers from here on are milliseconds, below they are seconds (contract section 6).
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// How many milliseconds a clock is ahead of another, at least, which has told its time between two readings of the
/// first: what lies between these may be the way. Below 0 it is behind.
pub fn ahead_ms(before: Timestamp, told: Timestamp, after: Timestamp) -> i64 {
    (before.ms() - told.ms()).max(0) + (after.ms() - told.ms()).min(0)
}

/// How far a clock that is so many milliseconds ahead is from the database's, as in "40 s behind the database's";
/// `None` where that is not too far for a daemon.
pub fn told_of_skew(ahead_ms: i64) -> Option<String> {
    if ahead_ms.unsigned_abs() <= CLOCK_SKEW_MAX_MS {
        return None;
    }
    let seconds = ahead_ms.unsigned_abs() / 1000;
    let way = if ahead_ms > 0 { "ahead of" } else { "behind" };
    Some(format!("{seconds} s {way} the database's"))
}

impl Timestamp {
    /// The point after which there is none.
    pub const MAX: Self = Self(i64::MAX);

    /// The point this many milliseconds after the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// The point `s` seconds later.
    #[must_use]
    pub fn plus_s(self, s: u64) -> Self {
        let ms = i64::try_from(s.saturating_mul(1000)).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(ms))
    }

    /// The point `s` seconds earlier.
    #[must_use]
    pub fn minus_s(self, s: u64) -> Self {
        let ms = i64::try_from(s.saturating_mul(1000)).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(ms))
    }

    /// Reads a date as clients write it: RFC 3339 with an offset, or `YYYY-MM-DD`, which is that
    /// day's midnight in UTC.
    pub fn parse(text: &str) -> Option<Self> {
        Self::in_range(ms_of_date(text)?)
    }

    /// The same, but a date before 1970 is the epoch.
    pub fn parse_or_epoch(text: &str) -> Option<Self> {
        Self::in_range(ms_of_date(text)?.max(0))
    }

    /// Reads since when somebody wants to know something: a date as [`Timestamp::parse`], or how long ago
    /// it is, as [`parse_span_s`] has it.
    pub fn parse_since(text: &str, now: Self) -> Option<Self> {
        match parse_span_s(text) {
            Some(span_s) => Some(Self(now.0.saturating_sub(ms_of(span_s)?).max(0))),
            None => Self::parse(text),
        }
    }

    /// Reads until when something is to hold: a date as [`Timestamp::parse`], or how long from now on, as
    /// [`parse_span_s`] has it.
    pub fn parse_until(text: &str, now: Self) -> Option<Self> {
        match parse_span_s(text) {
            Some(span_s) => Self::in_range(now.0.checked_add(ms_of(span_s)?)?),
            None => Self::parse(text),
        }
    }

    /// Reads a number of seconds, or of milliseconds from 10¹¹ on.
    pub fn from_number(number: i64) -> Option<Self> {
        let ms = if number >= MILLISECONDS_FROM {
            number
        } else {
            number.checked_mul(1000)?
        };
        Self::in_range(ms)
    }

    /// When something happened that came after what happened at `last`, by a clock that shows this
    /// point. A clock that went back a little must not disorder a history: then it is `last`. Where it
    /// is behind by more than [`CLOCK_DOUBT_S`], it was `last` that was wrong, and must not date all
    /// that follows.
    #[must_use]
    pub fn in_order_after(self, last: Self) -> Self {
        if last <= self.plus_s(CLOCK_DOUBT_S) {
            self.max(last)
        } else {
            self
        }
    }

    fn in_range(ms: i64) -> Option<Self> {
        (0..=LAST_MS).contains(&ms).then_some(Self(ms))
    }
}

/// Milliseconds from the epoch to a date, less than 0 before it.
fn ms_of_date(text: &str) -> Option<i64> {
    // The longest text with nanoseconds has 35 bytes; a parser should not see more.
    if text.len() > 40 {
        return None;
    }
    let day = format_description!("[year]-[month]-[day]");
    let point = if text.len() == 10 {
        Date::parse(text, day).ok()?.midnight().assume_utc()
    } else {
        OffsetDateTime::parse(text, &Rfc3339).ok()?
    };
    i64::try_from(point.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
}

fn ms_of(span_s: u64) -> Option<i64> {
    i64::try_from(span_s).ok()?.checked_mul(1000)
}

/// Reads a length of time, in seconds: a whole number and a unit, as `45s`, `5m`, `12h`, `30d` or `4w`.
pub fn parse_span_s(text: &str) -> Option<u64> {
    let unit_s = match text.as_bytes().last()? {
        b's' => 1,
        b'm' => 60,
        b'h' => 3600,
        b'd' => DAY_S,
        b'w' => 7 * DAY_S,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    // Parsing a number would take a sign.
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit_s)
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.clamp(0, LAST_MS);
        let point = OffsetDateTime::from_unix_timestamp(ms / 1000).map_err(|_| fmt::Error)?;
        let year = u32::try_from(point.year()).map_err(|_| fmt::Error)?;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let fraction = u32::try_from(ms % 1000).map_err(|_| fmt::Error)?;
        // Every line of the log has one: written by hand it takes a tenth of the time.
        for (end, mut number) in [
            (4, year),
            (7, u32::from(u8::from(point.month()))),
            (10, u32::from(point.day())),
            (13, u32::from(point.hour())),
            (16, u32::from(point.minute())),
            (19, u32::from(point.second())),
            (23, fraction),
        ] {
            for digit in text[..end].iter_mut().rev() {
                if number == 0 {
                    break;
                }
                *digit += u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        }
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    /// As a number in records; answers use [`Timestamp`]'s text.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(self.0)
    }
}

/// Tells the time. Order and ids never come from it, only what is shown and what expires.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Milliseconds by a clock that nobody sets, and that goes on while the machine sleeps. Only the
    /// difference of two readings of one process means anything.
    fn uptime_ms(&self) -> i64;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine"
    )]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }

    fn uptime_ms(&self) -> i64 {
        let since_boot = clock_gettime(ClockId::Boottime);
        since_boot.tv_sec * 1000 + since_boot.tv_nsec / 1_000_000
    }
}

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    now: AtomicI64,
    uptime: AtomicI64,
}

impl ManualClock {
    /// Starts at this point.
    pub fn new(at: Timestamp) -> Self {
        Self {
            now: AtomicI64::new(at.0),
            uptime: AtomicI64::new(0),
        }
    }

    /// Sets the clock to this point; no time passes.
    pub fn set(&self, at: Timestamp) {
        self.now.store(at.0, Ordering::SeqCst);
    }

    /// Lets so many seconds pass.
    pub fn advance_s(&self, s: u64) {
        let ms = Timestamp(0).plus_s(s).0;
        self.now.fetch_add(ms, Ordering::SeqCst);
        self.uptime.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn uptime_ms(&self) -> i64 {
        self.uptime.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_clients_write_them() {
        let text = |read: Option<Timestamp>| read.map(|at| at.to_string());
        for (given, shown) in [
            ("2027-01-31", "2027-01-31T00:00:00.000Z"),
            ("2027-01-31T10:00:00+03:00", "2027-01-31T07:00:00.000Z"),
            ("2027-01-31T10:00:00.5Z", "2027-01-31T10:00:00.500Z"),
        ] {
            assert_eq!(
                text(Timestamp::parse(given)).as_deref(),
                Some(shown),
                "{given}"
            );
        }
        for wrong in [
            "",
            "never",
            "2026-02-30",
            "2026-13-01",
            "2026-1-1",
            "01/02/2027",
            "2027-01-31T10:00:00",
            "2027-01-31T24:00:00Z",
            "2027-01-31T10:00:00+99:00",
            " 2027-01-31",
            "1969-12-31",
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Timestamp::from_number(1_798_761_600),
            Timestamp::parse("2027-01-01")
        );
        assert_eq!(
            Timestamp::from_number(1_798_761_600_000),
            Timestamp::parse("2027-01-01")
        );
        let now = Timestamp::parse("2026-11-21").unwrap();
        let since = |given: &str| text(Timestamp::parse_since(given, now));
        assert_eq!(since("30d").as_deref(), Some("2026-10-22T00:00:00.000Z"));
        assert_eq!(since("12h").as_deref(), Some("2026-11-20T12:00:00.000Z"));
        assert_eq!(since("5m").as_deref(), Some("2026-11-20T23:55:00.000Z"));
        assert_eq!(
            since("2026-01-31").as_deref(),
            Some("2026-01-31T00:00:00.000Z")
        );
        assert_eq!(
            since("4294967295d").as_deref(),
            Some("1970-01-01T00:00:00.000Z")
        );
        assert_eq!(since("2w").as_deref(), Some("2026-11-07T00:00:00.000Z"));
        assert_eq!(since("90s").as_deref(), Some("2026-11-20T23:58:30.000Z"));
        let until = |given: &str| text(Timestamp::parse_until(given, now));
        assert_eq!(until("30d").as_deref(), Some("2026-12-21T00:00:00.000Z"));
        assert_eq!(
            until("2027-01-31").as_deref(),
            Some("2027-01-31T00:00:00.000Z")
        );
        for wrong in [
            "",
            "d",
            "-1d",
            "+1d",
            "1",
            "1.5h",
            "18446744073709551616d",
            "ёd",
            "1y",
        ] {
            assert_eq!(since(wrong), None, "{wrong}");
            assert_eq!(until(wrong), None, "{wrong}");
        }
        assert_eq!(until("4000000w"), None, "beyond the last year");
        assert_eq!(Timestamp::from_number(-1), None);
        assert_eq!(Timestamp::from_number(i64::MAX), None);
    }
}
