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

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.0.push('"');
        escape(&mut self.0, value);
        self.0.push('"');
    }

    fn shown(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key);
        self.0.push('"');
        // A value whose own formatting fails ends where it failed.
        let _cut = write!(Escaped(&mut self.0), "{value}");
        self.0.push('"');
    }

    fn number(&mut self, key: &str, value: impl itoa::Integer) {
        self.key(key);
        self.0.push_str(itoa::Buffer::new().format(value));
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field.name(), value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.number(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.key(field.name());
        self.0.push_str(if value { "true" } else { "false" });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.shown(field.name(), format_args!("{value:?}"));
    }
}

/// Writes text into a JSON string.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

/// Adds text to a JSON string. What JSON escapes is ASCII, so that it is looked for among the bytes.
fn escape(line: &mut String, text: &str) {
    let mut rest = text;
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    while let Some(at) = rest.bytes().position(is_special) {
        let (fine, special) = rest.split_at(at);
        line.push_str(fine);
        let _infallible = write!(line, "\\u{:04x}", special.as_bytes()[0]);
        rest = &special[1..];
    }
    line.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_a_value_holds() {
        let mut line = Line(String::from("{\"a\":1"));
        line.text("text", "a \"b\" \\ \n \u{1} я");
        line.number("number", 7);
        line.0.push('}');
        let read: serde_json::Value = serde_json::from_str(&line.0).unwrap();
        let expected = serde_json::json!({"a": 1, "text": "a \"b\" \\ \n \u{1} я", "number": 7});
        assert_eq!(read, expected);
    }
}
