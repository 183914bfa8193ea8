//! What may be done to a path.

/// A set of permissions on a path of the virtual file system (specification section 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// Read the bytes of files.
    pub const READ: Self = Self(1);
    /// See what there is.
    pub const LIST: Self = Self(1 << 1);
    /// Create and change.
    pub const WRITE: Self = Self(1 << 2);
    /// Delete.
    pub const REMOVE: Self = Self(1 << 3);
    /// Change what is kept about a file beside its bytes. The specification gives it to the platform's
    /// administrator; no action of the two APIs asks for it.
    pub const METADATA: Self = Self(1 << 4);

    /// Read and list.
    pub const VIEW: Self = Self::READ.and(Self::LIST);
    /// The specification's "full read/write": what an owner has.
    pub const FULL: Self = Self::VIEW.and(Self::WRITE).and(Self::REMOVE);
    /// Everything there is.
    pub const ALL: Self = Self::FULL.and(Self::METADATA);
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if every permission of `needed` is in this set.
    pub const fn include(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }
}

/// A kind of change to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Create a branch, save, save a batch.
    Write,
    /// Delete a file, a branch or the project.
    Delete,
    /// Restore a snapshot: it writes what was, and removes what has come since.
    Rollback,
}

impl Right {
    /// What the caller must have for it. To change a project one must see it, too: the reply
    /// shows its state.
    pub const fn needs(self) -> Permissions {
        match self {
            Self::Write => Permissions::VIEW.and(Permissions::WRITE),
            Self::Delete => Permissions::VIEW.and(Permissions::REMOVE),
            Self::Rollback => Permissions::FULL,
        }
    }
}
