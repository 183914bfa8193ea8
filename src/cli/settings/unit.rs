//! Amounts as people write them: `500M` of bytes, `30d` of time.

use crate::base::clock::{DAY_S, parse_span_s};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Unit {
    /// Things, which have no unit.
    Things,
    Bytes,
    Seconds,
    Days,
}

impl Unit {
    /// The unit of a value with this placeholder.
    pub(super) fn of(placeholder: &str) -> Self {
        match placeholder {
            "BYTES" => Self::Bytes,
            "SECONDS" => Self::Seconds,
            "DAYS" => Self::Days,
            _ => Self::Things,
        }
    }

    /// Reads a whole number, alone or with a unit: for bytes `K`, `M`, `G` or `T`, each 1,024 of the
    /// one before, for times as [`parse_span_s`]. The error says what it must be.
    pub(in crate::cli) fn parse(self, text: &str) -> Result<u64, &'static str> {
        let alone = || text.parse().ok();
        let read = match self {
            Self::Things => alone(),
            Self::Bytes => alone().or_else(|| bytes(text)),
            Self::Seconds => alone().or_else(|| parse_span_s(text)),
            Self::Days => alone().or_else(|| days(text)),
        };
        read.ok_or_else(|| self.rule_for(text))
    }

    /// What a value must be that is none: for a number that is too large, the largest.
    pub(super) fn rule_for(self, text: &str) -> &'static str {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match self {
            _ if !is_number => self.rule(),
            Self::Seconds => "it must be at most 3153600000, a century",
            Self::Things | Self::Bytes | Self::Days => "it must be at most 18446744073709551615",
        }
    }

    /// What a value must be.
    fn rule(self) -> &'static str {
        match self {
            Self::Things => "it must be a whole number",
            Self::Bytes => "it must be a whole number of bytes, or as 500M or 1G",
            Self::Seconds => "it must be a whole number of seconds, or as 90s, 5m or 12h",
            Self::Days => "it must be a whole number of days, or as 30d or 12w",
        }
    }
}

/// A number of days from a command line, at least one, as [`Unit::parse`].
pub(in crate::cli) fn days_from_1(text: &str) -> Result<u64, &'static str> {
    from_1(Unit::Days, text)
}

/// A number of seconds from a command line, from one up to those of a day, as [`Unit::parse`].
pub(in crate::cli) fn seconds_to_a_day(text: &str) -> Result<u64, &'static str> {
    match from_1(Unit::Seconds, text)? {
        seconds @ ..=86_400 => Ok(seconds),
        _ => Err("it must be at most 86400, a day"),
    }
}

/// A number of bytes from a command line, at least one, as [`Unit::parse`].
pub(in crate::cli) fn bytes_from_1(text: &str) -> Result<u64, &'static str> {
    from_1(Unit::Bytes, text)
}

fn from_1(unit: Unit, text: &str) -> Result<u64, &'static str> {
    match unit.parse(text)? {
        0 => Err("it must be at least 1"),
        amount => Ok(amount),
    }
}

fn bytes(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' | b'k' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return None,
    };
    let count: u64 = text[..text.len() - 1].parse().ok()?;
    count.checked_mul(1 << shift)
}

/// Whole days of a span.
fn days(text: &str) -> Option<u64> {
    let span_s = parse_span_s(text)?;
    (span_s % DAY_S == 0).then_some(span_s / DAY_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_and_without_a_unit() {
        for (unit, text, amount) in [
            (Unit::Things, "7", Some(7)),
            (Unit::Things, "7K", None),
            (Unit::Bytes, "512", Some(512)),
            (Unit::Bytes, "4k", Some(4096)),
            (Unit::Bytes, "500M", Some(500 << 20)),
            (Unit::Bytes, "1G", Some(1 << 30)),
            (Unit::Bytes, "2T", Some(2 << 40)),
            (Unit::Bytes, "16777216T", None),
            (Unit::Bytes, "1.5G", None),
            (Unit::Bytes, "G", None),
            (Unit::Bytes, "", None),
            (Unit::Bytes, "1d", None),
            (Unit::Seconds, "90", Some(90)),
            (Unit::Seconds, "90s", Some(90)),
            (Unit::Seconds, "12h", Some(43_200)),
            (Unit::Seconds, "1M", None),
            (Unit::Days, "30", Some(30)),
            (Unit::Days, "30d", Some(30)),
            (Unit::Days, "12w", Some(84)),
            (Unit::Days, "48h", Some(2)),
            (Unit::Days, "36h", None),
            (Unit::Days, "-1d", None),
        ] {
            assert_eq!(unit.parse(text).ok(), amount, "{unit:?} {text}");
        }
        assert_eq!(days_from_1("0d"), Err("it must be at least 1"));
    }
}
