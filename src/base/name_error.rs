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
