//! Every kind of credential: what it is, and what it is good for.

/// What a token in the headers is worth on the Read API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// There is none, or none that counts.
    Nothing,
    /// It counts, but not from here.
    Elsewhere,
    /// It counts.
    Counts {
        /// It opens the project of the scene.
        covers: bool,
        /// Further projects that it opens.
        sees: &'static [Hidden],
    },
}

/// What a cookie in the headers is worth on the Admin API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// There is none, or none that counts.
    Nothing,
    /// That of an account.
    Of(&'static Account),
}

/// A project whose names and contents nobody may see but those who are said to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hidden {
    /// Another of the owner of the scene.
    Owners,
    /// One of somebody else.
    Strangers,
}

/// An account with a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: &'static str,
    pub(super) roles: &'static [&'static str],
    /// What it has that a route may ask for, in the words of the document.
    pub(super) has: &'static [&'static str],
    /// The hidden projects that it may see.
    pub(super) sees: &'static [Hidden],
}

const USER: &str = "ROLE_SITEBUILDER_USER";
pub(super) const PREFIX: &str = "ROLE_SITEBUILDER_USER__acme";
const PUBLIC: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
const READONLY: &str = "ROLE_SITEBUILDER_EDITOR__READONLY";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";

/// The owner of the scene, `acme/….erp`.
pub(super) const OWNER: &Account = &Account {
    name: "alice",
    roles: &[],
    has: &[
        "own_token",
        "own_session",
        "read",
        "write",
        "delete",
        "rollback",
        "manage",
        "restore",
    ],
    sees: &[Hidden::Owners],
};
/// Somebody who has a project of his own.
pub(super) const STRANGER: &Account = &Account {
    name: "mallory",
    roles: &[USER],
    has: &["is mallory"],
    sees: &[Hidden::Strangers],
};
/// Somebody who works with the owner.
pub(super) const PARTNER: &Account = &Account {
    name: "carol",
    roles: &[PREFIX],
    has: &["read", "write", "delete", "rollback"],
    sees: &[],
};
const PUBLIC_EDITOR: &Account = &Account {
    name: "paula",
    roles: &[PUBLIC],
    has: &[],
    sees: &[],
};
pub(super) const AUDITOR: &Account = &Account {
    name: "aude",
    roles: &[READONLY],
    has: &["read", "audit"],
    sees: &[Hidden::Owners, Hidden::Strangers],
};
pub(super) const ADMINISTRATOR: &Account = &Account {
    name: "rita",
    roles: &[ROOT],
    has: &[
        "read",
        "write",
        "delete",
        "rollback",
        "manage",
        "restore",
        "audit",
        "accounts",
        "service",
        "all_tokens",
        "everything",
    ],
    sees: &[Hidden::Owners, Hidden::Strangers],
};
/// Somebody who worked with the owner until the role was taken away.
pub(super) const FORMER: &Account = &Account {
    name: "dora",
    roles: &[PREFIX],
    has: &[],
    sees: &[],
};

/// All of them.
pub(super) const ACCOUNTS: [&Account; 7] = [
    OWNER,
    STRANGER,
    PARTNER,
    PUBLIC_EDITOR,
    AUDITOR,
    ADMINISTRATOR,
    FORMER,
];

/// A kind of credential, by the name under which the stage has its headers.
#[derive(Debug)]
pub(super) struct Credential {
    pub(super) name: &'static str,
    pub(super) token: Token,
    pub(super) session: Session,
    /// How the headers themselves are.
    pub(super) headers: Headers,
}

/// How headers are, beside what they say of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Headers {
    Usual,
    /// A header that may be there once is there twice.
    Ambiguous,
    /// A browser says that another site asks.
    OfAnotherSite,
}

const COVERS: Token = Token::Counts {
    covers: true,
    sees: &[],
};
const COVERS_OTHERS: Token = Token::Counts {
    covers: false,
    sees: &[],
};
/// A token for all projects of the owner.
const COVERS_ALL: Token = Token::Counts {
    covers: true,
    sees: &[Hidden::Owners],
};

const fn of_token(name: &'static str, token: Token) -> Credential {
    Credential {
        name,
        token,
        session: Session::Nothing,
        headers: Headers::Usual,
    }
}

const fn of_session(name: &'static str, account: &'static Account) -> Credential {
    Credential {
        name,
        token: Token::Nothing,
        session: Session::Of(account),
        headers: Headers::Usual,
    }
}

const fn two(name: &'static str, token: Token, session: Session) -> Credential {
    Credential {
        name,
        token,
        session,
        headers: Headers::Usual,
    }
}

const fn nothing(name: &'static str) -> Credential {
    of_token(name, Token::Nothing)
}

/// All kinds.
pub(super) const CREDENTIALS: &[Credential] = &[
    nothing("none"),
    nothing("a token that is none"),
    nothing("a token that nobody was given"),
    nothing("a token of another service"),
    nothing("a token in capitals"),
    nothing("an expired token"),
    nothing("a revoked token"),
    nothing("the former value of a rotated token"),
    nothing("a token of a disabled account"),
    nothing("a token as a cookie"),
    nothing("two tokens that count"),
    of_token("a token without its instance", Token::Elsewhere),
    of_token("a token bound to another instance", Token::Elsewhere),
    of_token("a token for nothing", COVERS_OTHERS),
    of_token(
        "a token for another project of the owner",
        Token::Counts {
            covers: false,
            sees: &[Hidden::Owners],
        },
    ),
    of_token(
        "a stranger's token for all its projects",
        Token::Counts {
            covers: false,
            sees: &[Hidden::Strangers],
        },
    ),
    of_token("a token of who lost the role", COVERS_OTHERS),
    of_token("a token for the project", COVERS),
    of_token("a token for all projects", COVERS_ALL),
    of_token("a token bound to this instance", COVERS),
    of_token("a token as a bearer", COVERS),
    of_token("the former value in its grace", COVERS),
    of_token("a token of a partner", COVERS),
    of_token("a token of an auditor", COVERS),
    nothing("a cookie that is none"),
    nothing("a cookie that nobody was given"),
    nothing("a cookie of another service"),
    nothing("a session that was left"),
    nothing("a session from before a new password"),
    nothing("a session of a disabled account"),
    nothing("a session of a removed account"),
    nothing("two sessions that count"),
    nothing("a session as a token"),
    of_session("the owner", OWNER),
    of_session("a stranger", STRANGER),
    of_session("a partner", PARTNER),
    of_session("a public editor", PUBLIC_EDITOR),
    of_session("an auditor", AUDITOR),
    of_session("an administrator", ADMINISTRATOR),
    of_session("who lost the role", FORMER),
    two("the owner and a token", COVERS, Session::Of(OWNER)),
    two(
        "a stranger and a token for the project",
        COVERS,
        Session::Of(STRANGER),
    ),
    two(
        "the owner and an expired token",
        Token::Nothing,
        Session::Of(OWNER),
    ),
    two(
        "a session that was left and a token",
        COVERS,
        Session::Nothing,
    ),
    Credential {
        name: "two lines of tokens",
        token: COVERS,
        session: Session::Of(OWNER),
        headers: Headers::Ambiguous,
    },
    Credential {
        name: "the owner's browser on another site",
        token: COVERS,
        session: Session::Of(OWNER),
        headers: Headers::OfAnotherSite,
    },
    Credential {
        name: "another site without a credential",
        token: Token::Nothing,
        session: Session::Nothing,
        headers: Headers::OfAnotherSite,
    },
];
