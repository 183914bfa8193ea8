//! Whom a route is for.

/// What a route asks of who sends a request. Each route has one in its table; the document tells it, and
/// what the document tells is what is tried, by every kind of credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Policy {
    /// Nothing.
    Anybody,
    /// A token that counts.
    Token,
    /// A token that covers the project, and an owner who may read it.
    Covered,
    /// A session.
    Session,
    /// A session of the account that has the token.
    OwnToken,
    /// The same, or the right to revoke the tokens of all.
    RevokedToken,
    /// A session of the account that has the session; for others it is not there.
    OwnSession,
    /// A session of who may manage what was deleted; for others it is not there.
    Restore,
    /// A session with the right to read the project. Without the right to it, this and what follows is
    /// refused.
    Read,
    /// To save and to make branches there.
    Write,
    /// To delete there.
    Delete,
    /// To restore snapshots there.
    Rollback,
    /// To manage it.
    Manage,
    /// A session with the right to read the audit log.
    Audit,
    /// To administer accounts.
    Accounts,
    /// To see how the service is.
    Service,
}

impl Policy {
    /// The credentials that are looked at, as the document names them; empty where none is needed.
    pub(in crate::http) fn credentials(self) -> &'static [&'static str] {
        match self {
            Self::Anybody => &[],
            Self::Token | Self::Covered => &["PrivateToken", "Bearer"],
            Self::Session
            | Self::OwnToken
            | Self::RevokedToken
            | Self::OwnSession
            | Self::Restore
            | Self::Read
            | Self::Write
            | Self::Delete
            | Self::Rollback
            | Self::Manage
            | Self::Audit
            | Self::Accounts
            | Self::Service => &["Session", "SecureSession"],
        }
    }

    /// What there must be beside a credential that counts, any one of these, in the words of the document:
    /// the fields of a project's `permissions`, and of the `rights` in a session, have the same.
    pub(in crate::http) fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Anybody | Self::Token | Self::Session => &[],
            Self::Covered => &["covered"],
            Self::OwnToken => &["own_token"],
            Self::RevokedToken => &["own_token", "all_tokens"],
            Self::OwnSession => &["own_session"],
            Self::Restore => &["restore"],
            Self::Read => &["read"],
            Self::Write => &["write"],
            Self::Delete => &["delete"],
            Self::Rollback => &["rollback"],
            Self::Manage => &["manage"],
            Self::Audit => &["audit"],
            Self::Accounts => &["accounts"],
            Self::Service => &["service"],
        }
    }
}
