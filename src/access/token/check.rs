//! Whether a token counts for a request, and the binding to its first instance.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Token, TokenOfDigest, TokenView};
use crate::access::account::Account;
use crate::access::error::{Error, Refusal, Result};
use crate::access::keys;
use crate::access::rights::permission::Permissions;
use crate::access::tokens::Tokens;
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::base::limits::INSTANCE_ID_BYTES_MAX;
use crate::base::secret::{Fingerprint, Secret, ServerKey};
use crate::repo::audit;
use crate::repo::audit::Action;
use crate::repo::{Project, Projects};
use crate::store::{Batch, Expect, Versioned};

/// Longest time, in seconds, by which the record of a token's last use may be behind: of thousands of clients that ask
/// once a minute each, all would write each time they ask.
const LAST_USED_BEHIND_S_MAX: u64 = 600;
/// By so many of these seconds tokens differ, by their numbers: those that were first used in the same minute, as after
/// a start of all clients, are not written in the same minutes ever after.
const LAST_USED_SPREAD_S: u64 = 300;

/// Somebody who showed a token that counts, and the token's owner, as read at one moment.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    pub(in crate::access) owner: Arc<Account>,
    pub(in crate::access) token: Arc<Token>,
    projects: Projects,
    at: Timestamp,
}

/// A token that counts, as somebody shows it.
enum Shown {
    /// By the instance that it is bound to, or where it is bound to none.
    Known(TokenHolder),
    /// For the first time.
    First {
        kept: Versioned<Token>,
        /// What the commit that binds it expects of its owner's record.
        owner: Expect,
        /// Who holds it once it is bound.
        bound: TokenHolder,
    },
}

impl TokenHolder {
    /// The token's owner.
    pub fn owner(&self) -> &Account {
        &self.owner
    }

    /// The token's number, which no other of its owner has.
    pub fn number(&self) -> u64 {
        self.token.number
    }

    /// What is shown of the token.
    pub fn token(&self) -> TokenView {
        self.token.view(&self.owner, &self.projects, self.at)
    }

    /// True if the token covers the project and its owner may still read it.
    pub(in crate::access) fn may_read(&self, project: &Project) -> bool {
        self.token.scope.covers(self.owner.number, project)
            && self.owner.may(Permissions::VIEW, project)
    }
}

impl Tokens {
    /// Checks a token in the order of contract section 5: known and not revoked, not expired, owner
    /// enabled, fingerprint. The first use of one that is bound by it waits for its commit.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`], [`Error::FingerprintMismatch`].
    ///
    /// # Durability
    /// When a first use returns, the token is bound; of many at once exactly one returns.
    pub(in crate::access) fn check(
        &self,
        key: &ServerKey,
        secret: &Secret,
        instance: Option<&[u8]>,
        from: Option<IpAddr>,
    ) -> Result<TokenHolder> {
        self.records.retry_on_conflict(|| {
            let (kept, expect, holder) = match self.look(key, secret, instance)? {
                Shown::Known(holder) => return Ok(holder),
                Shown::First { kept, owner, bound } => (kept, owner, bound),
            };
            let TokenHolder { owner, token, .. } = &holder;
            let mut batch = change_of(&kept, token);
            // What the owner may was judged by its account as it was read here, and the commit may wait long.
            batch.expect((keys::account(owner.number), expect));
            let actor = Actor::account(&owner.name, from);
            let record = self.audit_record(owner, token, &actor, Action::TokenBound);
            audit::add(&mut batch, &record);
            self.records.commit(batch)?;
            Ok(holder)
        })
    }

    /// The same, waiting for no commit: `None` for a first use by which the token is to be bound, and is not yet.
    ///
    /// # Errors
    /// As [`Tokens::check`].
    pub(in crate::access) fn check_known(
        &self,
        key: &ServerKey,
        secret: &Secret,
        instance: Option<&[u8]>,
    ) -> Result<Option<TokenHolder>> {
        match self.look(key, secret, instance)? {
            Shown::Known(holder) => Ok(Some(holder)),
            Shown::First { .. } => Ok(None),
        }
    }

    /// Who shows the token, if it counts. The use of a known one is noted soon.
    fn look(&self, key: &ServerKey, secret: &Secret, instance: Option<&[u8]>) -> Result<Shown> {
        let now = self.clock.now();
        let (kept, owner) = self.known(secret, now)?;
        let mut token = Arc::clone(&kept.value);
        let bound = if token.fingerprint_required {
            bind(&token, &owner.value, key, instance)?
        } else {
            None
        };
        let is_first = bound.is_some();
        if is_first || is_behind(&token, now) {
            let used = Token {
                last_used_at: Some(now),
                fingerprint: bound.or(token.fingerprint),
                ..Token::clone(&token)
            };
            if !is_first {
                let key = keys::token(used.account, used.number);
                self.background.put_late(key, change_of(&kept, &used));
            }
            token = Arc::new(used);
        }
        let expect = owner.expect();
        let holder = TokenHolder {
            owner: owner.value,
            token,
            projects: self.projects.clone(),
            at: now,
        };
        Ok(if is_first {
            Shown::First {
                kept,
                owner: expect,
                bound: holder,
            }
        } else {
            Shown::Known(holder)
        })
    }

    /// The token and its owner, if it counts.
    fn known(
        &self,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<(Versioned<Token>, Versioned<Account>)> {
        let unknown = || Error::Unauthenticated(Refusal::new("unknown token"));
        let lead = self.records.get(&keys::token_digest(secret.digest()))?;
        let lead: Arc<TokenOfDigest> = lead.ok_or_else(unknown)?.value;
        let kept = self.records.get(&keys::token(lead.account, lead.token))?;
        let kept: Versioned<Token> = kept.ok_or_else(unknown)?;
        let owner = self.accounts.kept(lead.account)?.ok_or_else(unknown)?;
        let refused = |reason| Error::Unauthenticated(refusal(&owner.value, &kept.value, reason));
        if !kept.value.is_value(secret.digest(), now) {
            return Err(refused("replaced value of a token"));
        }
        if kept.value.has_expired(now) {
            self.note_expired(&kept);
            return Err(refused("expired token"));
        }
        if !owner.value.enabled {
            return Err(refused("disabled account"));
        }
        Ok((kept, owner))
    }

    fn note_expired(&self, kept: &Versioned<Token>) {
        // A clock that is doubted refuses, and ends nothing for good.
        if !kept.value.found_expired && kept.value.has_expired(self.clock.believed()) {
            let token = Token {
                found_expired: true,
                ..Token::clone(&kept.value)
            };
            let key = keys::token(token.account, token.number);
            self.background.put(key, change_of(kept, &token));
        }
    }
}

/// Compares the instance with the one that the token is bound to. Gives the instance's fingerprint
/// when the token is bound to none: the caller binds it, durably.
fn bind(
    token: &Token,
    owner: &Account,
    key: &ServerKey,
    instance: Option<&[u8]>,
) -> Result<Option<Fingerprint>> {
    let refused = |reason| Error::FingerprintMismatch(refusal(owner, token, reason));
    let instance = instance.filter(|id| is_instance_id(id));
    let instance = instance.ok_or_else(|| refused("no X-Instance-Id beside a bound token"))?;
    let shown = key.fingerprint(token.number, instance);
    let Some(bound) = &token.fingerprint else {
        return Ok(Some(shown));
    };
    if bound.matches(&shown) {
        return Ok(None);
    }
    tracing::warn!(token = token.number, "a token was used by another instance");
    Err(refused("the token is bound to another instance"))
}

fn refusal(owner: &Account, token: &Token, reason: &'static str) -> Refusal {
    Refusal {
        token: Some(token.shown()),
        ..Refusal::of(&owner.name, reason)
    }
}

fn change_of(kept: &Versioned<Token>, token: &Token) -> Batch {
    let is_bound = |token: &Token| token.fingerprint.is_some();
    let mut batch = Batch {
        // Unlike the last use, these protect.
        uses_reserve: token.found_expired || is_bound(token) != is_bound(&kept.value),
        ..Batch::default()
    };
    let key = keys::token(token.account, token.number);
    batch.write(key, kept.expect(), token);
    batch
}

/// True if a use now is to be noted.
fn is_behind(token: &Token, now: Timestamp) -> bool {
    let behind_s = LAST_USED_BEHIND_S_MAX - token.number % LAST_USED_SPREAD_S;
    // A use in a time to come was noted by a clock that was wrong.
    let is_now = |at: Timestamp| at <= now && now < at.plus_s(behind_s);
    !token.last_used_at.is_some_and(is_now)
}

/// True for 1 to 255 visible ASCII bytes (contract section 6).
pub(in crate::access) fn is_instance_id(id: &[u8]) -> bool {
    (1..=INSTANCE_ID_BYTES_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}
