//! A JSON object whose last field is a file in base64: what the pieces of a large file become on their way out.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;

/// What stands behind the file.
const END: &str = "\"}";

/// The object under way, from one piece of the file to the next.
#[derive(Clone, Debug)]
pub(in crate::http) struct Base64Object {
    /// What stands before the file, until its first piece was made.
    head: String,
    /// Bytes of the piece before that are no whole group of three.
    rest: Vec<u8>,
}

impl Base64Object {
    /// `head` is all of the object before the file, with the quotation mark that its text begins with.
    pub(in crate::http) fn new(head: String) -> Self {
        Self {
            head,
            rest: Vec::new(),
        }
    }

    /// Bytes of the whole object with a file of so many bytes.
    pub(in crate::http) fn bytes(&self, file_bytes: u64) -> u64 {
        let around = self.head.len() + END.len();
        file_bytes.div_ceil(3) * 4 + around as u64
    }

    /// Most bytes that a piece of the file becomes.
    pub(in crate::http) fn piece_bytes_max(&self, piece_bytes: usize) -> usize {
        let groups = (self.rest.len() + piece_bytes).div_ceil(3);
        self.head.len() + groups * 4 + END.len()
    }

    /// What the next piece of the file becomes, and what makes the one after it.
    pub(in crate::http) fn made_of(self, piece: &[u8], is_last: bool) -> (Bytes, Self) {
        let Self {
            head: mut made,
            mut rest,
        } = self;
        made.reserve_exact((rest.len() + piece.len()).div_ceil(3) * 4 + END.len());
        let lacking = (3 - rest.len()) % 3;
        let (start, piece) = piece.split_at(lacking.min(piece.len()));
        rest.extend_from_slice(start);
        if rest.len() == 3 || is_last {
            BASE64_STANDARD.encode_string(&rest, &mut made);
            rest.clear();
        }
        // No padding before the end.
        let whole = if is_last {
            piece.len()
        } else {
            piece.len() / 3 * 3
        };
        let (whole, behind) = piece.split_at(whole);
        BASE64_STANDARD.encode_string(whole, &mut made);
        rest.extend_from_slice(behind);
        if is_last {
            made.push_str(END);
        }
        let head = String::new();
        (made.into(), Self { head, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_become_the_object_that_the_whole_file_does() {
        let file: Vec<u8> = (0..=255).collect();
        let head = "{\"content\":\"";
        for piece_bytes in 1..=file.len() {
            let mut object = Base64Object::new(head.to_owned());
            let length = object.bytes(file.len() as u64);
            let mut sent = Vec::new();
            for (number, piece) in file.chunks(piece_bytes).enumerate() {
                let is_last = (number + 1) * piece_bytes >= file.len();
                let most = object.piece_bytes_max(piece.len());
                let (made, next) = object.made_of(piece, is_last);
                assert!(made.len() <= most, "{} of {most}", made.len());
                sent.extend_from_slice(&made);
                object = next;
            }
            let whole = format!("{head}{}\"}}", BASE64_STANDARD.encode(&file));
            assert_eq!(String::from_utf8(sent).unwrap(), whole);
            assert_eq!(whole.len() as u64, length);
        }
    }
}
