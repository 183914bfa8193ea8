//! Why a name is refused, and how much of it is shown.

use std::borrow::Cow;

/// Most characters of a text of a client that a refusal shows.
const SHOWN_CHARS_MAX: usize = 200;

/// Says which name is malformed and what to do about it; safe to show to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {reason}")]
pub struct NameError {
    /// The kind of name, in the client's words.
    pub what: &'static str,
    /// The rule it breaks.
    pub reason: &'static str,
}

/// As much of a text of a client as a refusal shows, with an ellipsis where that is not all.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Refuses a new name with a character that is not seen, or turns the direction of text. A name from before,
/// which only [`is_deceptive`] was held against, is read as it is.
pub fn check_new(what: &'static str, name: &str) -> Result<(), NameError> {
    let mut before = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        // The emoji of a key: a digit or a sign, the selector, and the key around it.
        let is_key = c == '\u{fe0f}'
            && matches!(before, Some('0'..='9' | '#' | '*'))
            && chars.peek() == Some(&'\u{20e3}');
        // It selects a form of the character before it, which else has none of its own in ASCII.
        let selects_nothing = is_selector(c)
            && !is_key
            && before.is_none_or(|c: char| c.is_ascii() || is_selector(c));
        if is_deceptive(c) || is_hidden(c) || selects_nothing {
            let reason =
                "it holds a control, bidirectional, zero-width or other invisible character";
            return Err(NameError { what, reason });
        }
        before = Some(c);
    }
    Ok(())
}

/// True for what is not seen either: soft hyphens, fillers in the place of a letter, vowels that are not written, marks
/// of notes, of music and of shorthand, tags. These and [`is_selector`] are what Unicode has as
/// `Default_Ignorable_Code_Point` beside [`is_deceptive`].
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{180e}'
        | '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// True for variation selectors, which scripts and emoji need.
fn is_selector(c: char) -> bool {
    matches!(c,
        '\u{180b}'..='\u{180d}' | '\u{180f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// True for characters that no name may hold because they are invisible or reorder what is shown:
/// controls, line and paragraph separators, bidirectional and zero-width controls.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{2028}' | '\u{2029}'
            | '\u{061c}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{200b}'..='\u{200d}' | '\u{feff}')
}
