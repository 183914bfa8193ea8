//! YAML: whether a text is it, and its documents as JSON values. Aliases are not expanded.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use saphyr_parser::{Event, Input, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

use super::text::{Fault, Place};
use crate::base::limits::{
    SCHEMA_DEPTH_MAX, YAML_DEPTH_MAX, YAML_DIRECTIVE_BYTES_MAX, YAML_PARTS_AHEAD_MAX,
};

/// Where a text begins.
const START: Place = Place { line: 1, column: 1 };
/// How many characters the parser looks ahead for a part of a text, such as a word or a bracket.
const PART_LOOKAHEAD: usize = 4;

/// Refuses what is not YAML: that a mapping has a key twice, too.
///
/// # Limits
/// [`YAML_DEPTH_MAX`], [`YAML_PARTS_AHEAD_MAX`], [`YAML_DIRECTIVE_BYTES_MAX`].
pub(super) fn check(text: &str) -> Result<(), Fault> {
    let mut open: Vec<Option<Keys<'_>>> = Vec::new();
    for event in events(text)? {
        let (event, span) = event?;
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == YAML_DEPTH_MAX => {
                return Err(too_deep(place_at(&span), YAML_DEPTH_MAX));
            }
            Event::SequenceStart(..) => open.push(None),
            Event::MappingStart(..) => open.push(Some(Keys::default())),
            Event::Scalar(text, style, _, tag) => {
                if let Some(Some(keys)) = open.last_mut() {
                    keys.take(text, style, tag.as_deref(), &span)?;
                }
            }
            Event::Alias(_) => turn(&mut open),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                turn(&mut open);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The keys of a mapping that is not closed.
#[derive(Default)]
struct Keys<'t> {
    /// Those that are scalars; with true what is a text, as `"1"` is another key than `1`.
    known: HashSet<(bool, Cow<'t, str>)>,
    /// True where the next is the value of one.
    has_key: bool,
}

impl<'t> Keys<'t> {
    /// Takes the next scalar.
    fn take(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(), Fault> {
        self.has_key = !self.has_key;
        // Many take this as what to merge, which may come from several places.
        let merges = text == "<<" && style == ScalarStyle::Plain && tag.is_none();
        if !self.has_key || merges {
            return Ok(());
        }
        let key = (scalar(&text, style, tag).is_string(), text);
        if self.known.contains(&key) {
            return Err(twice(&key.1, span));
        }
        self.known.insert(key);
        Ok(())
    }
}

/// Goes from a key that is no scalar to its value, or from a value to the next key.
fn turn(open: &mut [Option<Keys<'_>>]) {
    if let Some(Some(keys)) = open.last_mut() {
        keys.has_key = !keys.has_key;
    }
}

/// What a text consists of, one after the other.
struct Events<'t> {
    parser: Parser<'t, Metered<'t>>,
    ahead_left: Rc<Cell<usize>>,
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<(Event<'t>, Span), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ahead_left.set(YAML_PARTS_AHEAD_MAX);
        let event = self.parser.next_event()?;
        if self.ahead_left.get() == 0 {
            let place = match &event {
                Ok((_, span)) => place_at(span),
                Err(error) => place_of(error),
            };
            let reason =
                "a list or an object in brackets is too long: write it with a line for each entry";
            return Some(Err(Fault::at(place, reason)));
        }
        Some(event.map_err(|error| unread(&error)))
    }
}

/// A text that ends when it is read too far for one event. What stands in brackets may be a key as a whole, so
/// the parser reads all of it before it tells where it begins, and keeps each part as some 170 bytes.
struct Metered<'t> {
    text: StrInput<'t>,
    ahead_left: Rc<Cell<usize>>,
}

impl Input for Metered<'_> {
    fn lookahead(&mut self, count: usize) {
        // The parser looks so far ahead at the beginning of each part, and of some lines within one.
        if count == PART_LOOKAHEAD {
            let left = self.ahead_left.get().saturating_sub(1);
            self.ahead_left.set(left);
            if left == 0 {
                self.text = StrInput::new("");
            }
        }
        self.text.lookahead(count);
    }

    fn buflen(&self) -> usize {
        self.text.buflen()
    }

    fn bufmaxlen(&self) -> usize {
        self.text.bufmaxlen()
    }

    fn raw_read_ch(&mut self) -> char {
        self.text.raw_read_ch()
    }

    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.text.raw_read_non_breakz_ch()
    }

    fn skip(&mut self) {
        self.text.skip();
    }

    fn skip_n(&mut self, count: usize) {
        self.text.skip_n(count);
    }

    fn peek(&self) -> char {
        self.text.peek()
    }

    fn peek_nth(&self, n: usize) -> char {
        self.text.peek_nth(n)
    }

    fn peek_opt(&self) -> Option<char> {
        self.text.peek_opt()
    }
}

/// What a text consists of, if it has no control characters and no directive is too long.
fn events(text: &str) -> Result<Events<'_>, Fault> {
    let is_long = |line: &str| {
        line.len() > YAML_DIRECTIVE_BYTES_MAX
            && line.trim_start_matches('\u{feff}').starts_with('%')
    };
    if let Some(line) = text.split(['\n', '\r']).find(|line| is_long(line)) {
        let offset = line.as_ptr().addr() - text.as_ptr().addr();
        let reason = format!("a directive has at most {YAML_DIRECTIVE_BYTES_MAX} bytes");
        return Err(Fault::in_text(text, offset, reason));
    }
    // The parser takes them; most others that read YAML do not.
    let is_control = |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    if let Some(offset) = text.find(is_control) {
        return Err(Fault::in_text(text, offset, "a control character"));
    }
    let ahead_left = Rc::new(Cell::new(YAML_PARTS_AHEAD_MAX));
    let text = Metered {
        text: StrInput::new(text),
        ahead_left: Rc::clone(&ahead_left),
    };
    Ok(Events {
        parser: Parser::new(text),
        ahead_left,
    })
}

/// The documents of a text as JSON values, by YAML's core schema; null where it has none, as all who read YAML take
/// it.
///
/// # Errors
/// What JSON does not have: aliases, keys that are no scalars, keys that are there twice; nesting beyond
/// [`SCHEMA_DEPTH_MAX`].
pub(super) fn values(text: &str) -> Result<Vec<Value>, Fault> {
    let mut reading = Reading::default();
    reading.run(text)?;
    if reading.documents.is_empty() {
        return Ok(vec![Value::Null]);
    }
    Ok(reading.documents)
}

/// Where the part of a document stands that these keys and numbers lead to; what is not there is told by
/// the place of the last that is.
pub(super) fn place<'p>(
    text: &str,
    document: usize,
    path: impl Iterator<Item = Cow<'p, str>>,
) -> Option<Place> {
    let mut reading = Reading {
        wanted: Some((document, path.map(Cow::into_owned).collect())),
        ..Reading::default()
    };
    reading.run(text).ok()?;
    Some(reading.found.map_or(START, |(_, place)| place))
}

/// Documents that are being read.
#[derive(Default)]
struct Reading {
    documents: Vec<Value>,
    open: Vec<Open>,
    /// A document by its number, and a way into it.
    wanted: Option<(usize, Vec<String>)>,
    /// How far that way was found, and where that is.
    found: Option<(usize, Place)>,
}

/// A collection that is not closed.
enum Open {
    List(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

impl Reading {
    fn run(&mut self, text: &str) -> Result<(), Fault> {
        for event in events(text)? {
            let (event, span) = event?;
            self.take(event, &span)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let place = place_at(span);
        match event {
            Event::Scalar(text, style, _, tag) => {
                if let Some(Open::Object(object, key @ None)) = self.open.last_mut() {
                    if object.contains_key(&*text) {
                        return Err(twice(&text, span));
                    }
                    *key = Some(text.into_owned());
                    return Ok(());
                }
                self.look(place);
                let value = scalar(&text, style, tag.as_deref());
                self.put(value);
            }
            Event::SequenceStart(..) => self.begin(place, Open::List(Vec::new()))?,
            Event::MappingStart(..) => self.begin(place, Open::Object(Map::new(), None))?,
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(list)) => self.put(Value::Array(list)),
                Some(Open::Object(object, _)) => self.put(Value::Object(object)),
                None => {}
            },
            Event::Alias(_) => {
                let reason = "an alias is not expanded, so no schema can be held against it";
                return Err(Fault::at(place, reason));
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn begin(&mut self, place: Place, open: Open) -> Result<(), Fault> {
        if let Some(Open::Object(_, None)) = self.open.last() {
            return Err(Fault::at(place, "a key that is not a scalar"));
        }
        if self.open.len() == SCHEMA_DEPTH_MAX {
            return Err(too_deep(place, SCHEMA_DEPTH_MAX));
        }
        self.look(place);
        self.open.push(open);
        Ok(())
    }

    /// Puts a value where it belongs.
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.documents.push(value),
            Some(Open::List(list)) => list.push(value),
            Some(Open::Object(object, key)) => {
                if let Some(key) = key.take() {
                    object.insert(key, value);
                }
            }
        }
    }

    /// Notes the place of the value that begins now, if the wanted way leads there.
    fn look(&mut self, place: Place) {
        let Some((document, path)) = &self.wanted else {
            return;
        };
        let depth = self.open.len();
        let is_step = |(open, name): (&Open, &String)| match open {
            Open::List(list) => name.parse() == Ok(list.len()),
            Open::Object(_, key) => key.as_ref() == Some(name),
        };
        let leads = *document == self.documents.len()
            && depth <= path.len()
            && self.open.iter().zip(path).all(is_step);
        if leads && self.found.is_none_or(|(before, _)| depth > before) {
            self.found = Some((depth, place));
        }
    }
}

/// A scalar by the core schema of YAML 1.2.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let core = tag.filter(|tag| tag.is_yaml_core_schema());
    let is_plain = style == ScalarStyle::Plain && tag.is_none();
    if !is_plain && core.is_none_or(|tag| tag.suffix == "str") {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16).map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8).map(Number::from);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if !is_number {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole = text.strip_prefix('+').unwrap_or(text);
        let signed = whole.parse::<i64>().map(Number::from);
        if let Ok(number) = signed.or_else(|_| whole.parse::<u64>().map(Number::from)) {
            return Some(number);
        }
    }
    // What JSON has no number for stays a text.
    text.parse().ok().and_then(Number::from_f64)
}

fn twice(key: &str, span: &Span) -> Fault {
    Fault::at(place_at(span), format!("the key \"{key}\" is there twice"))
}

fn too_deep(place: Place, most: usize) -> Fault {
    Fault::at(place, format!("nested more than {most} deep"))
}

fn place_at(span: &Span) -> Place {
    Place {
        line: span.start.line(),
        column: span.start.col() + 1,
    }
}

fn place_of(error: &ScanError) -> Place {
    Place {
        line: error.marker().line(),
        column: error.marker().col() + 1,
    }
}

fn unread(error: &ScanError) -> Fault {
    Fault::at(place_of(error), error.info())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_become_values() {
        let text =
            "a: 1\nb: [~, yes, True, 0x1F, 1.5, '2', -3, +4, .inf, 1e3, 1-2]\n---\n!!str 5\n";
        assert_eq!(
            values(text).unwrap(),
            [
                json!({"a": 1, "b": [null, "yes", true, 31, 1.5, "2", -3, 4, ".inf", 1000.0, "1-2"]}),
                json!("5"),
            ]
        );
        assert_eq!(values("").unwrap(), [Value::Null]);
    }

    #[test]
    fn what_json_does_not_have_is_refused_with_its_place() {
        let fault = |text: &str| {
            let Fault { place, reason } = values(text).unwrap_err();
            format!("{} {reason}", place.unwrap())
        };
        assert_eq!(
            fault("a: &x 1\nb: *x\n"),
            "2:4 an alias is not expanded, so no schema can be held against it"
        );
        assert_eq!(fault("? [1]\n: 2\n"), "1:3 a key that is not a scalar");
        assert_eq!(fault("a: 1\na: 2\n"), "2:1 the key \"a\" is there twice");
        assert_eq!(fault(&"[".repeat(200)), "1:101 nested more than 100 deep");
        assert_eq!(fault("a: 1\nb: \u{1}\n"), "2:4 a control character");
    }

    #[test]
    fn a_part_is_found_in_the_text() {
        let text = "x: 0\n---\nя: 0\nlist:\n  - a: 1\n  - b:\n      c: 2\n";
        let found = |path: &[&str]| {
            let path = path.iter().map(|name| Cow::Borrowed(*name));
            place(text, 1, path).unwrap().to_string()
        };
        assert_eq!(found(&[]), "3:1");
        assert_eq!(found(&["list", "1", "b", "c"]), "7:10");
        assert_eq!(found(&["list", "9"]), "5:3");
    }
}
