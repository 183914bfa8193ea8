//! Numbers in keys.

/// Appends a number in lower-case hexadecimal digits, eight or more: numbers of up to four thousand
/// million then sort as their texts do. Keys are made at every request, and formatting costs more than
/// the look-up.
pub fn push_hex(text: &mut String, number: u64) {
    let digits = 16 - (number.leading_zeros() as usize / 4);
    for place in (0..digits.max(8)).rev() {
        let digit = (number >> (4 * place)) & 15;
        text.push(char::from(b"0123456789abcdef"[digit as usize]));
    }
}

/// A prefix with a number behind it.
pub fn numbered(prefix: &str, number: u64) -> String {
    let mut text = String::with_capacity(prefix.len() + 24);
    text.push_str(prefix);
    push_hex(&mut text, number);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_eight_digits_or_more() {
        for number in [0, 1, 0x2a, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            assert_eq!(numbered("a/", number), format!("a/{number:08x}"));
        }
    }
}
