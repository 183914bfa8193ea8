//! Whether the last upload to a bucket was refused.

use crate::store::LargeBodies;
use crate::store::writes::Trouble;

/// What the last upload met, of what only an upload can meet.
#[derive(Debug)]
pub(in crate::store) struct RefusedUploads {
    want_of_room: Trouble,
    want_of_right: Trouble,
}

impl Default for RefusedUploads {
    fn default() -> Self {
        Self {
            want_of_room: Trouble::of_room(),
            want_of_right: Trouble::of_denial(),
        }
    }
}

impl RefusedUploads {
    /// Notes what an upload has met.
    pub(super) fn note(&self, met: LargeBodies) {
        self.want_of_room.note(met == LargeBodies::Full);
        self.want_of_right.note(met == LargeBodies::Denied);
    }

    /// What the last upload met, unless that was too long ago.
    pub(in crate::store) fn lasting(&self) -> LargeBodies {
        if self.want_of_room.lasts() {
            LargeBodies::Full
        } else if self.want_of_right.lasts() {
            LargeBodies::Denied
        } else {
            LargeBodies::Well
        }
    }
}
