//! Why a name is refused.

/// Says which name is malformed and what to do about it; safe to show to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {reason}")]
pub struct NameError {
    /// The kind of name, in the client's words.
    pub what: &'static str,
    /// The rule it breaks.
    pub reason: &'static str,
}

/// Refuses a new name with a character that is not seen, or turns the direction of text. A name from before,
/// which only [`is_deceptive`] was held against, is read as it is.
pub fn check_new(what: &'static str, name: &str) -> Result<(), NameError> {
    if name.chars().any(|c| is_deceptive(c) || is_hidden(c)) {
        let reason = "it holds a control, bidirectional, zero-width or other invisible character";
        return Err(NameError { what, reason });
    }
    Ok(())
}

/// True for the controls of formats that are not seen either: soft hyphens, marks of notes and of music, tags.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{180e}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}')
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
