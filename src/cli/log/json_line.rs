//! A line of the log as a JSON object.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::base::clock::{Clock, SystemClock};

/// One JSON object per line: time, level, the event's fields, where it comes from.
#[derive(Debug)]
pub(super) struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        let (now, level) = (SystemClock.now(), meta.level());
        let mut line = Line(String::with_capacity(512));
        write!(line.0, "{{\"timestamp\":\"{now}\",\"level\":\"{level}\"")?;
        event.record(&mut line);
        line.text("target", meta.target());
        line.0.push_str("}\n");
        writer.write_str(&line.0)
    }
}

/// A line that is being written.
struct Line(String);

impl Line {
    fn key(&mut self, key: &str) {
        self.0.push_str(",\"");
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    fn text(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key);
        self.0.push('"');
        // A value whose own formatting fails ends where it failed.
        let _cut = write!(Escaped(&mut self.0), "{value}");
        self.0.push('"');
    }

    fn plain(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key);
        let _infallible = write!(self.0, "{value}");
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field.name(), value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.plain(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field.name(), format_args!("{value:?}"));
    }
}

/// Writes text into a JSON string.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(|c| matches!(c, '"' | '\\' | '\0'..='\u{1f}')) {
            let (fine, special) = rest.split_at(at);
            self.0.push_str(fine);
            write!(self.0, "\\u{:04x}", special.as_bytes()[0])?;
            rest = &special[1..];
        }
        self.0.push_str(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_a_value_holds() {
        let mut line = Line(String::from("{\"a\":1"));
        line.text("text", "a \"b\" \\ \n \u{1} я");
        line.plain("number", 7);
        line.0.push('}');
        let read: serde_json::Value = serde_json::from_str(&line.0).unwrap();
        let expected = serde_json::json!({"a": 1, "text": "a \"b\" \\ \n \u{1} я", "number": 7});
        assert_eq!(read, expected);
    }
}
