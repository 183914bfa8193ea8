//! Bytes of a file as text, and places in it.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far into a file its XML declaration is looked for, in bytes.
const DECLARATION_BYTES_MAX: usize = 1024;
/// Longest reason that is told, in bytes: it may repeat a part of the file.
const REASON_BYTES_MAX: usize = 300;

/// A place in a file, both from 1 on; a column is counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// `None` where it is about the file as a whole.
    pub(super) place: Option<Place>,
    /// What is wrong, in one line.
    pub(super) reason: String,
}

impl Fault {
    /// At this place.
    pub(super) fn at(place: Place, reason: impl Into<String>) -> Self {
        Self {
            place: Some(place),
            reason: one_line(&reason.into()),
        }
    }

    /// At this byte of a text.
    pub(super) fn in_text(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        Self::at(place_of(text, offset), reason)
    }

    /// Of the whole file.
    pub(super) fn of_all(reason: impl Into<String>) -> Self {
        Self {
            place: None,
            reason: one_line(&reason.into()),
        }
    }
}

/// A text without line ends, cut to the length that is told.
fn one_line(reason: &str) -> String {
    let mut reason = reason.replace(['\r', '\n'], " ");
    if reason.len() > REASON_BYTES_MAX {
        reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        reason.push('…');
    }
    reason
}

/// The place of a byte of a text.
pub(super) fn place_of(text: &str, offset: usize) -> Place {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place {
        line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
        column: 1 + before[line_start..].chars().count(),
    }
}

/// A file in JSON or YAML as text: UTF-8, or UTF-16 that its first bytes tell. A byte order mark is left
/// out.
pub(super) fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let (encoding, mark) = by_first_bytes(bytes).unwrap_or((UTF_8, 0));
    decoded_from(&bytes[mark..], encoding)
}

/// A file in XML as text: as its first bytes tell, or as it declares.
pub(super) fn decoded_xml(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    if let Some((encoding, mark)) = by_first_bytes(bytes) {
        return decoded_from(&bytes[mark..], encoding);
    }
    let Some(label) = declared(bytes) else {
        return decoded_from(bytes, UTF_8);
    };
    let shown = String::from_utf8_lossy(label);
    let start = Place { line: 1, column: 1 };
    let encoding = Encoding::for_label_no_replacement(label)
        .ok_or_else(|| Fault::at(start, format!("the encoding \"{shown}\" is not known")))?;
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return Err(Fault::at(
            start,
            format!("it declares \"{shown}\", which its bytes are not"),
        ));
    }
    decoded_from(bytes, encoding)
}

/// A file in XML as text that is in the encoding of one byte a character that it declares, as windows-1251 is;
/// `None` for any other. Different bytes are different texts.
pub(in crate::repo) fn declared_text(bytes: &[u8]) -> Option<String> {
    let encoding = Encoding::for_label_no_replacement(declared(bytes)?)?;
    let text = decoded_from(bytes, encoding).ok()?;
    encoding.is_single_byte().then(|| text.into_owned())
}

/// The encoding that a byte order mark tells, or zeros beside the first character, which is one of ASCII in
/// all formats; and the length of the mark.
fn by_first_bytes(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    if let Some(found) = Encoding::for_bom(bytes) {
        return Some(found);
    }
    match bytes {
        [0, second, ..] if *second != 0 => Some((UTF_16BE, 0)),
        [first, 0, ..] if *first != 0 => Some((UTF_16LE, 0)),
        _ => None,
    }
}

/// The encoding that an XML declaration names.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES_MAX)];
    let head = head.strip_prefix(b"<?xml")?;
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    let head = &head[..end];
    let name = b"encoding";
    let at = head.windows(name.len()).position(|part| part == name)?;
    let rest = head[at + name.len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    let end = rest.iter().position(|byte| byte == quote)?;
    matches!(quote, b'"' | b'\'').then_some(&rest[..end])
}

fn decoded_from<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Result<Cow<'b, str>, Fault> {
    if encoding == UTF_8 {
        return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
            let sound = String::from_utf8_lossy(&bytes[..e.valid_up_to()]);
            Fault::in_text(&sound, sound.len(), "these bytes are not UTF-8")
        });
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let most = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(most.unwrap_or(bytes.len()));
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, true);
    match result {
        DecoderResult::InputEmpty => Ok(Cow::Owned(text)),
        DecoderResult::OutputFull | DecoderResult::Malformed(..) => Err(Fault::in_text(
            &text,
            text.len(),
            format!("these bytes are not {}", encoding.name()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, mark: &[u8], to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mut bytes = mark.to_vec();
        bytes.extend(text.encode_utf16().flat_map(to_bytes));
        bytes
    }

    #[test]
    fn a_text_is_decoded_by_its_first_bytes() {
        let text = "{\"я\": 1}";
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            utf16(text, b"\xff\xfe", u16::to_le_bytes),
            utf16(text, b"\xfe\xff", u16::to_be_bytes),
            utf16(text, b"", u16::to_le_bytes),
            utf16(text, b"", u16::to_be_bytes),
        ] {
            assert_eq!(decoded(&bytes).unwrap(), text, "{bytes:?}");
            assert_eq!(decoded_xml(&bytes).unwrap(), text, "{bytes:?}");
        }
        assert_eq!(decoded(b"").unwrap(), "");
    }

    #[test]
    fn a_declared_encoding_counts_for_xml() {
        let bytes = b"<?xml version='1.0' encoding = 'windows-1251' ?><a>\xff</a>";
        assert!(decoded_xml(bytes).unwrap().ends_with("<a>я</a>"));
        let fault = |bytes: &[u8]| {
            let Fault { place, reason } = decoded_xml(bytes).unwrap_err();
            format!("{} {reason}", place.unwrap())
        };
        assert_eq!(
            fault(b"<?xml version='1.0' encoding='klingon'?><a/>"),
            "1:1 the encoding \"klingon\" is not known"
        );
        assert_eq!(
            fault(b"<?xml version='1.0' encoding='UTF-16'?><a/>"),
            "1:1 it declares \"UTF-16\", which its bytes are not"
        );
        assert_eq!(
            fault(
                "<a>я\n\u{7f}"
                    .as_bytes()
                    .split_last()
                    .unwrap()
                    .1
                    .iter()
                    .copied()
                    .chain([0xff])
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            "2:1 these bytes are not UTF-8"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_their_place() {
        let fault = decoded(b"{\n \xff}").unwrap_err();
        assert_eq!(fault.place, Some(Place { line: 2, column: 2 }));
        let cut = utf16("ab", b"\xff\xfe", u16::to_le_bytes);
        let fault = decoded(&cut[..5]).unwrap_err();
        assert_eq!(fault.reason, "these bytes are not UTF-16LE");
        assert_eq!(place_of("я\nяb", 5), Place { line: 2, column: 2 });
    }
}
