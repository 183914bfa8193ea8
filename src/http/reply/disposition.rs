//! `Content-Disposition`: the name under which a browser keeps a file (RFC 6266).

use hyper::header::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What `filename*` may hold unescaped (RFC 8187, `attr-char`).
const ATTR_CHARS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// How a file is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Disposition {
    /// Shown where it can be, as GitLab does.
    Inline,
    /// Only ever saved.
    Attachment,
    /// As [`Self::Attachment`], with one name where ASCII has it exactly: clients of GitLab, which gives archives one
    /// name, take what follows for a part of it.
    Archive,
}

impl Disposition {
    /// The header's value for a file of this name: an ASCII fall-back and the exact name, of an archive only where
    /// they differ.
    pub(in crate::http) fn header(self, name: &str) -> HeaderValue {
        let kind = match self {
            Self::Inline => "inline",
            Self::Attachment | Self::Archive => "attachment",
        };
        let plain: String = name
            .chars()
            .map(|c| match c {
                '"' | '\\' | '%' => '_',
                ' '..='~' => c,
                _ => '_',
            })
            .collect();
        let mut value = format!("{kind}; filename=\"{plain}\"");
        if self != Self::Archive || plain != name {
            let exact = utf8_percent_encode(name, ATTR_CHARS);
            value = format!("{value}; filename*=UTF-8''{exact}");
        }
        HeaderValue::try_from(value).expect("only visible ASCII was written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_quotes() {
        for (name, expected) in [
            (
                "a b.xml",
                "inline; filename=\"a b.xml\"; filename*=UTF-8''a%20b.xml",
            ),
            (
                "a\"; filename=\"evil.exe",
                "inline; filename=\"a_; filename=_evil.exe\"; filename*=UTF-8''a%22%3B%20filename%3D%22evil.exe",
            ),
            (
                "ü€.txt",
                "inline; filename=\"__.txt\"; filename*=UTF-8''%C3%BC%E2%82%AC.txt",
            ),
            (
                "'%22\r\nX: y",
                "inline; filename=\"'_22__X: y\"; filename*=UTF-8''%27%2522%0D%0AX%3A%20y",
            ),
        ] {
            assert_eq!(Disposition::Inline.header(name).to_str().unwrap(), expected);
        }
        assert!(
            Disposition::Attachment
                .header("x")
                .to_str()
                .unwrap()
                .starts_with("attachment; ")
        );
        for (name, expected) in [
            ("a b.zip", "attachment; filename=\"a b.zip\""),
            (
                "50%.zip",
                "attachment; filename=\"50_.zip\"; filename*=UTF-8''50%25.zip",
            ),
        ] {
            let header = Disposition::Archive.header(name);
            assert_eq!(header.to_str().unwrap(), expected);
        }
    }
}
