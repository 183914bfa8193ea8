//! The gate: the only door to a project for the layer above.

mod accounts;
mod deleted;
mod own;
mod projects;
mod tokens;

pub use accounts::FirstPassword;
pub use deleted::Restored;
pub use own::SessionView;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use crate::access::account::Account;
use crate::access::account_limits::AccountLimits;
use crate::access::accounts::Accounts;
use crate::access::audit::{Refusals, Refused};
use crate::access::error::{Error, Refusal, Result};
use crate::access::maker::{Judged, Maker};
use crate::access::rights::permission::{Permissions, Right};
use crate::access::rights::project_rights::ProjectRights;
use crate::access::rights::virtual_path::VirtualPath;
use crate::access::session_records::Session;
use crate::access::sessions::{SessionLifetimes, Sessions, Visit};
use crate::access::token::scope::{ProjectSelector, find};
use crate::access::tokens::Tokens;
use crate::base::actor::Actor;
use crate::base::cache::CacheUse;
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::base::reads::Reads;
use crate::base::repo_id::RepoId;
use crate::base::secret::{Seal, Secret, ServerKey};
use crate::repo;
use crate::repo::audit::{Filter, Page};
use crate::repo::{NewFile, Permit, Project, ProjectWriter, Projects, Upload};
use crate::store::{LargeBodies, StoreError, Writes};

/// Turns a credential into a caller, and opens projects for a caller, or refuses.
/// Cheap to clone. Every function may block on the store; [`Gate::login`] takes some 25 ms of a core.
#[derive(Clone, Debug)]
pub struct Gate {
    tokens: Tokens,
    key: Arc<ServerKey>,
    pub(in crate::access) projects: Projects,
    pub(in crate::access) accounts: Accounts,
    pub(in crate::access) sessions: Sessions,
    refusals: Arc<Refusals>,
    first_password: Option<Arc<dyn FirstPassword>>,
}

/// Somebody logged in, as read at the start of a request. Only [`Gate::session`] makes one.
#[derive(Clone, Debug)]
pub struct Caller {
    account: Arc<Account>,
    /// The digest of the session's secret.
    session: Sha256,
    ends_at: Timestamp,
    from: Option<IpAddr>,
}

impl Caller {
    /// The same, at the address that the request came from, for the audit log.
    #[must_use]
    pub fn at(self, address: IpAddr) -> Self {
        let from = Some(address);
        Self { from, ..self }
    }

    /// Who makes the caller's changes.
    fn actor(&self) -> Actor {
        Actor::account(&self.account.name, self.from)
    }

    /// The session as that which makes a change.
    fn maker(&self) -> Maker {
        Maker::new(&self.account, self.session)
    }

    /// The account that is logged in.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// What the caller may do to a project.
    pub fn rights_on(&self, project: &Project) -> ProjectRights {
        let rights = self.account.rights();
        rights.on(project.owner(), project.repo_id())
    }
}

/// The place for bodies that become files only by a later save.
#[derive(Clone, Debug)]
pub struct Uploads(Projects);

impl Uploads {
    /// Begins a body that comes in pieces, of this many bytes when that is known.
    pub fn upload(&self, announced: Option<u64>) -> Upload {
        self.0.upload(announced)
    }

    /// Bytes of such a body that are in memory, beside the blocks of its caller, while more of it is waited for.
    pub fn bytes_held(&self) -> u64 {
        self.0.store().staged_bytes_held()
    }

    /// Takes a whole small body.
    pub fn new_file(&self, bytes: Bytes) -> repo::Result<NewFile> {
        self.0.new_file(bytes)
    }
}

impl Gate {
    /// The gate before these projects. The key is what instances are remembered under.
    pub fn new(projects: Projects, key: ServerKey, lifetimes: SessionLifetimes) -> Self {
        Self {
            accounts: Accounts::new(&projects),
            sessions: Sessions::new(&projects, lifetimes),
            tokens: Tokens::new(&projects),
            refusals: Arc::new(Refusals::new(&projects)),
            first_password: None,
            key: Arc::new(key),
            projects,
        }
    }

    /// The same, with other limits for each account.
    #[must_use]
    pub fn with_limits(mut self, limits: AccountLimits) -> Self {
        self.tokens.limits = limits;
        self.sessions.most = limits.sessions_max;
        self
    }

    /// Checks a name and a password, and opens a session: the secret for the cookie, a new one each
    /// time, and who is logged in by it now.
    ///
    /// # Errors
    /// [`Error::WrongLogin`], in the same time and with the same text, for an unknown name, a wrong
    /// password and a disabled account.
    ///
    /// # Limits
    /// Takes 19 MiB and some 25 ms of a core: the caller bounds how many run at once.
    pub fn login(&self, name: &str, password: &str, visit: &Visit<'_>) -> Result<(Secret, Caller)> {
        let known = self.known_account(name)?;
        let matches = self.accounts.is_password(known.as_deref(), password);
        let refused = |reason| Refusal::of(name, reason);
        match known {
            None => Err(Error::WrongLogin(Refusal::new("unknown account"))),
            Some(_) if !matches => Err(Error::WrongLogin(refused("wrong password"))),
            Some(account) if !account.enabled => {
                Err(Error::WrongLogin(refused("disabled account")))
            }
            Some(account) => {
                // Nothing is read any more once it is made: who could not be told would have no cookie.
                let (secret, session) = self.sessions.open(&account, visit)?;
                Ok((secret, self.caller(account, &session)))
            }
        }
    }

    /// The account of this name, if there is one.
    pub fn known_account(&self, name: &str) -> Result<Option<Arc<Account>>> {
        match self.accounts.by_name(name) {
            Ok(account) => Ok(Some(account)),
            Err(Error::NoSuchAccount { .. }) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Who is logged in by this cookie; rights and all as they are now.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`].
    pub fn session(&self, cookie: &Secret) -> Result<Caller> {
        let (account, session) = self.sessions.account(cookie)?;
        Ok(self.caller(account, &session))
    }

    /// As [`Gate::session`], without counting as a use: the pause in the session goes on.
    ///
    /// # Errors
    /// As there.
    pub fn session_unused(&self, cookie: &Secret) -> Result<Caller> {
        let (account, session) = self.sessions.account_unused(cookie)?;
        Ok(self.caller(account, &session))
    }

    fn caller(&self, account: Arc<Account>, session: &Session) -> Caller {
        Caller {
            account,
            session: session.digest,
            ends_at: self.sessions.end_of(session),
            from: None,
        }
    }

    /// Ends a session, from this address. It counts no more when this returns.
    pub fn logout(&self, cookie: &Secret, from: Option<IpAddr>) -> Result<()> {
        self.sessions.close(cookie, from)
    }

    /// Opens a project for reading and listing.
    ///
    /// # Errors
    /// [`Error::NoSuchProject`]; [`Error::Forbidden`] when it exists and no grant opens it.
    pub fn open(&self, caller: &Caller, id: &RepoId) -> Result<Project> {
        self.open_for(caller, id, Permissions::VIEW)
    }

    /// Opens a project for a change.
    ///
    /// # Errors
    /// As [`Gate::open`].
    pub fn open_to_change(
        &self,
        caller: &Caller,
        id: &RepoId,
        action: Right,
    ) -> Result<ProjectWriter> {
        let needed = action.needs();
        let project = self.open_for(caller, id, needed)?;
        let permit = self.permit(caller, move |account, owner, repo_id| {
            account.may_at(needed, owner, repo_id)
        });
        Ok(ProjectWriter::new(project, caller.actor()).permitted_by(permit))
    }

    /// Has changes of contents pass over the rules that the project has for these.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for who has not the role for everything.
    pub fn pass_over_rules(&self, caller: &Caller, writer: ProjectWriter) -> Result<ProjectWriter> {
        self.require_root(caller)?;
        // Who has that role may make every change.
        let permit = self.permit(caller, |account, _, _| account.is_root());
        Ok(writer.passing_over_rules(true).permitted_by(permit))
    }

    /// The permission of a change that the caller makes: asks whether the session goes on, and this of its account, of
    /// the owner and the identifier of the project, all as they are then.
    fn permit(
        &self,
        caller: &Caller,
        may: impl Fn(&Account, u64, &RepoId) -> bool + Send + Sync + 'static,
    ) -> Permit {
        let (store, maker) = (Arc::clone(self.projects.store()), caller.maker());
        Permit::asking(move |owner, repo_id| {
            let actor = || maker.name().to_owned();
            match maker.judged(store.as_ref(), |account| may(account, owner, repo_id))? {
                Judged::May(held) => Ok(held.into()),
                Judged::SessionEnded => Err(repo::Error::LoggedOut { actor: actor() }),
                Judged::MayNot => Err(repo::Error::Forbidden { actor: actor() }),
            }
        })
    }

    fn open_for(&self, caller: &Caller, id: &RepoId, needed: Permissions) -> Result<Project> {
        let selector = ProjectSelector::Id(id.clone());
        let project = find(&self.projects, &selector)?.ok_or(Error::NoSuchProject)?;
        if !caller.account.may(needed, &project) {
            let path = VirtualPath::new(project.owner(), id);
            tracing::debug!(account = caller.account.number, %path, ?needed, "refused");
            return Err(Error::no_role(&caller.account.name));
        }
        Ok(project)
    }

    /// Says whether changes are taken.
    ///
    /// # Errors
    /// [`StoreError::Moved`] while its folder is not at its place; [`StoreError::Stopped`] after a failed write and
    /// [`StoreError::WentBack`], until a restart; [`StoreError::Unavailable`].
    pub fn require_writable(&self) -> Result<()> {
        match self.writes() {
            Writes::Moved => Err(StoreError::Moved.into()),
            Writes::Stopped => Err(StoreError::Stopped.into()),
            Writes::Away | Writes::Denied => Err(StoreError::Unavailable.into()),
            Writes::WentBack => Err(StoreError::WentBack.into()),
            Writes::Taken | Writes::Full | Writes::Busy | Writes::DatabaseReadOnly => Ok(()),
        }
    }

    /// Waits, and holds no thread meanwhile, until what is read then is as new as this; `None` if it is now.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] as soon as it is known that the store does not answer.
    pub fn catch_up(
        &self,
        reads: Reads,
    ) -> Option<impl Future<Output = Result<()>> + Send + use<>> {
        let caught_up = self.projects.store().catch_up(reads)?;
        Some(async { Ok(caught_up.await?) })
    }

    /// Whether changes are taken, in all that is told of it.
    pub fn writes(&self) -> Writes {
        self.projects.store().writes()
    }

    /// Whether large files are taken and can be had.
    pub fn large_files(&self) -> LargeBodies {
        self.projects.store().large_bodies()
    }

    /// How many milliseconds the clock of this machine is ahead of the database's; below 0 it is behind. 0 for a
    /// store that lies on this machine.
    pub fn clock_ahead_ms(&self) -> i64 {
        self.projects.store().clock_ahead_ms().unwrap_or(0)
    }

    /// What memory keeps of objects and of what is computed of them.
    pub fn cache_uses(&self) -> Vec<CacheUse> {
        self.projects.cache_uses()
    }

    /// Room on the file system of the store, in bytes, where it has one and tells.
    pub fn free_bytes(&self) -> Option<u64> {
        self.projects.store().free_bytes()
    }

    /// The name of a project's owner, empty when that account is gone.
    pub fn owner_name(&self, project: &Project) -> Result<String> {
        self.account_name(project.owner())
    }

    /// The name of the account with this number, empty when it is gone.
    fn account_name(&self, number: u64) -> Result<String> {
        let account = self.accounts.by_number(number)?;
        Ok(account.map_or_else(String::new, |account| account.name.clone()))
    }

    /// Has a refusal told in the audit log, soon and in the background; `request` says what was asked.
    ///
    /// # Limits
    /// Some a minute of each kind, and of each account fewer of its own; more are counted.
    pub fn note_refusal(
        &self,
        what: Refused,
        refusal: &Refusal,
        from: IpAddr,
        request: impl fmt::Display,
    ) {
        self.refusals.note(what, refusal, from, request);
    }

    /// The newest entries of the audit log before a place, or of all, as [`Projects::audit_page`].
    ///
    /// # Errors
    /// [`Error::Forbidden`] for who may not see everything.
    pub fn audit_page(
        &self,
        caller: &Caller,
        filter: &Filter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page> {
        if !caller.account.may_see_everything() {
            return Err(Error::no_role(&caller.account.name));
        }
        Ok(self.projects.audit_page(filter, before, limit)?)
    }

    /// Seals what a client keeps for the service, as [`ServerKey::seal`].
    pub fn seal(&self, purpose: &str, bytes: &[u8]) -> Seal {
        self.key.seal(purpose, bytes)
    }

    /// Where a body goes before the save that gives it a name.
    pub fn uploads(&self) -> Uploads {
        Uploads(self.projects.clone())
    }
}
