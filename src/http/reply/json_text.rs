//! Values as JSON, and lists of which only the text is held.

use serde::Serialize;

/// A value as the bytes of an answer.
pub(in crate::http) fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    write(value, &mut text);
    text
}

/// JSON that was made here, to stand in a text.
pub(in crate::http) fn into_text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON is UTF-8")
}

/// The JSON of entries that are added one after the other, with commas between them: a whole array, or what stands in
/// a part of one.
#[derive(Debug, Default)]
pub(in crate::http) struct EntriesText {
    /// What was not taken out of it.
    text: Vec<u8>,
    has_entries: bool,
    is_array: bool,
}

impl EntriesText {
    /// A whole array, in its brackets. Without them it is [`EntriesText::default`].
    pub(in crate::http) fn array() -> Self {
        Self {
            text: vec![b'['],
            is_array: true,
            ..Self::default()
        }
    }

    /// Adds an entry.
    pub(in crate::http) fn add(&mut self, entry: &impl Serialize) {
        if self.has_entries {
            self.text.push(b',');
        }
        self.has_entries = true;
        write(entry, &mut self.text);
    }

    /// Bytes that are held of it.
    pub(in crate::http) fn len(&self) -> usize {
        self.text.len()
    }

    /// Makes place for so many bytes in all. A text that doubles its place until it is long leaves as much again behind
    /// it, which the allocator does not give back to the system at once.
    pub(in crate::http) fn reserve(&mut self, bytes: usize) {
        self.text
            .reserve_exact(bytes.saturating_sub(self.text.len()));
    }

    /// What is held of it.
    pub(in crate::http) fn held(&self) -> &[u8] {
        &self.text
    }

    /// Lets go of what is held of it, whose place stays. What is added later continues it.
    pub(in crate::http) fn let_go(&mut self) {
        self.text.clear();
    }

    /// Ends it and gives what is held: nothing where no entry was added to what is no array.
    pub(in crate::http) fn end(mut self) -> Vec<u8> {
        if self.is_array {
            self.text.push(b']');
        }
        self.text
    }
}

fn write(value: &impl Serialize, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("answers have text keys and finite numbers");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_commas_between_them_also_where_some_were_taken_out() {
        for (count, whole) in [(0, "[]"), (1, "[0]"), (3, "[0,1,2]")] {
            let entries = || (0..count).collect::<Vec<u8>>();
            let (mut array, mut parts) = (EntriesText::array(), EntriesText::array());
            let (mut inside, mut taken) = (EntriesText::default(), Vec::new());
            for entry in entries() {
                array.add(&entry);
                inside.add(&entry);
                parts.add(&entry);
                taken.extend_from_slice(parts.held());
                parts.let_go();
                assert_eq!(parts.len(), 0);
            }
            taken.append(&mut parts.end());
            assert_eq!(array.len() + 1, whole.len());
            assert_eq!(into_text(to_json(&entries())), whole);
            assert_eq!(taken, whole.as_bytes());
            assert_eq!(array.end(), whole.as_bytes());
            assert_eq!(inside.end(), &whole.as_bytes()[1..whole.len() - 1]);
        }
    }
}
