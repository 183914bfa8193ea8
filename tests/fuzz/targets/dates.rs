//! Dates and lengths of time: what is taken is between 1970 and 9999, and its text is the same point.

use siteconf::base::clock::{Timestamp, parse_span_s};

/// What the points are relative to, in milliseconds.
const NOW_MS: i64 = 1_800_000_000_123;
const LAST_MS: i64 = 253_402_300_799_999;

pub(crate) fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let now = Timestamp::from_ms(NOW_MS);
    let point = Timestamp::parse(text);
    let span_s = parse_span_s(text);
    assert!(
        point.is_none() || span_s.is_none(),
        "{text:?} is two things"
    );
    if let Some(point) = point {
        assert!(text.len() <= 40);
        is_sound(point);
        // The day that the text tells is that of the point, or beside it for an offset.
        let day_ms = 24 * 3600 * 1000;
        let told = Timestamp::parse(&text[..10]).map(Timestamp::ms);
        let from_day = point.ms() - told.unwrap_or(point.ms());
        assert!(
            (-day_ms..2 * day_ms).contains(&from_day),
            "{text:?} is {point}"
        );
    }
    if let Some(span_s) = span_s {
        let (number, unit) = text.split_at(text.len() - 1);
        let unit_s = [
            ("s", 1),
            ("m", 60),
            ("h", 3600),
            ("d", 86_400),
            ("w", 604_800),
        ];
        let unit_s = unit_s
            .iter()
            .find(|known| known.0 == unit)
            .expect("a unit")
            .1;
        let number = number.trim_start_matches('0');
        let number = if number.is_empty() { "0" } else { number };
        assert_eq!((span_s / unit_s).to_string(), number);
        assert_eq!(span_s % unit_s, 0);
    }
    let since = Timestamp::parse_since(text, now);
    let until = Timestamp::parse_until(text, now);
    for point in [since, until].into_iter().flatten() {
        is_sound(point);
    }
    if span_s.is_none() {
        assert_eq!((since, until), (point, point));
    } else {
        assert!(since.is_none_or(|since| since <= now));
        assert!(until.is_none_or(|until| until >= now));
    }
    if let Ok(number) = text.parse()
        && let Some(point) = Timestamp::from_number(number)
    {
        is_sound(point);
        assert!(point.ms() == number || point.ms() == number * 1000);
    }
}

fn is_sound(point: Timestamp) {
    assert!((0..=LAST_MS).contains(&point.ms()));
    let text = point.to_string();
    assert_eq!(text.len(), 24);
    assert_eq!(Timestamp::parse(&text), Some(point));
}
