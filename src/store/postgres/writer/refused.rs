//! Whether the last changes were refused for what others would meet, too.

use std::time::Duration;

use crate::store::writes::Trouble;
use crate::store::{StoreError, Writes};

/// Somebody may have given the right meanwhile.
const DENIAL_BELIEVED_FOR: Duration = Duration::from_mins(1);

/// What the last changes have met.
#[derive(Debug)]
pub(in crate::store::postgres) struct RefusedWrites {
    want_of_room: Trouble,
    want_of_right: Trouble,
}

impl Default for RefusedWrites {
    fn default() -> Self {
        Self {
            want_of_room: Trouble::of_room(),
            want_of_right: Trouble::believed_for(DENIAL_BELIEVED_FOR),
        }
    }
}

impl RefusedWrites {
    /// Notes why the database has refused changes.
    pub(super) fn note_refusal(&self, refusal: &StoreError) {
        match refusal {
            StoreError::Full => self.want_of_room.note(true),
            StoreError::Unfit { .. } => self.want_of_right.note(true),
            _ => {}
        }
    }

    /// Notes that a change was made. What adds no object may still find room on pages that are there.
    pub(super) fn note_made(&self, adds_objects: bool) {
        if adds_objects {
            self.want_of_room.note(false);
        }
        self.want_of_right.note(false);
    }

    /// Whether changes are taken, by what the last ones met, unless that was too long ago.
    pub(in crate::store::postgres) fn lasting(&self) -> Writes {
        if self.want_of_right.lasts() {
            Writes::Away
        } else if self.want_of_room.lasts() {
            Writes::Full
        } else {
            Writes::Taken
        }
    }
}
