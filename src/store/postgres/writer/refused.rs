//! Whether the last changes were refused for what others would meet, too.

use crate::store::writes::Trouble;
use crate::store::{StoreError, Writes};

/// What the last changes have met.
#[derive(Debug)]
pub(in crate::store::postgres) struct RefusedWrites {
    want_of_room: Trouble,
    want_of_right: Trouble,
    /// That the database is set to take none. Signs of life meet it, too, so that it is found without a change.
    read_only: Trouble,
}

impl Default for RefusedWrites {
    fn default() -> Self {
        Self {
            want_of_room: Trouble::of_room(),
            want_of_right: Trouble::of_denial(),
            read_only: Trouble::of_denial(),
        }
    }
}

impl RefusedWrites {
    /// Notes why the database has refused changes.
    pub(super) fn note_refusal(&self, refusal: &StoreError) {
        match refusal {
            StoreError::Full => self.want_of_room.note(true),
            StoreError::Unfit { .. } => self.want_of_right.note(true),
            StoreError::DatabaseReadOnly => self.note_read_only(true),
            _ => {}
        }
    }

    /// Notes that a change was made. What adds no object may still find room on pages that are there.
    pub(super) fn note_made(&self, adds_objects: bool) {
        if adds_objects {
            self.want_of_room.note(false);
        }
        self.want_of_right.note(false);
        self.note_read_only(false);
    }

    /// Notes whether the database is set to take no changes.
    pub(in crate::store::postgres) fn note_read_only(&self, is_so: bool) {
        self.read_only.note(is_so);
    }

    /// Whether changes are taken, by what the last ones met, unless that was too long ago.
    pub(in crate::store::postgres) fn lasting(&self) -> Writes {
        if self.want_of_right.lasts() {
            Writes::Denied
        } else if self.read_only.lasts() {
            Writes::DatabaseReadOnly
        } else if self.want_of_room.lasts() {
            Writes::Full
        } else {
            Writes::Taken
        }
    }
}
