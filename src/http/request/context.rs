//! A routed request, as handlers see it.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::HeaderName;
use hyper::http::request::Parts;

use super::base_url;
use super::client::Peer;
use super::cookie::SessionCookie;
use super::query::Query;
use crate::access::{self, Account, Caller, Gate, Refusal, Refused, TokenHolder};
use crate::base::limits::SHORT_LIST_BYTES_MAX;
use crate::base::secret::Secret;
use crate::http::admission::answers::AnswerRoom;
use crate::http::admission::credential::Credential;
use crate::http::admission::fair_semaphore::{Asker, FairPermit};
use crate::http::admission::network::ClientNetwork;
use crate::http::admission::pieces::PieceShares;
use crate::http::admission::waiting::WaitingPermit;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::http::settings::HttpSettings;
use crate::http::wire::connection_state::ConnectionState;

/// Says that a page reads this by itself, while nobody is at it.
const UNATTENDED: HeaderName = HeaderName::from_static("x-unattended");

/// What a handler may look at: everything of the request but its body.
#[derive(Clone, Debug)]
pub(in crate::http) struct RequestContext {
    pub(in crate::http) service: Arc<Service>,
    pub(in crate::http) head: Parts,
    pub(in crate::http) query: Query,
    /// Who is at the other end of the connection.
    pub(in crate::http) peer: Peer,
    /// The address of who sent it.
    pub(in crate::http) client: IpAddr,
    /// Who sent it, once that is known.
    pub(in crate::http) who: Arc<OnceLock<Who>>,
    pub(in crate::http) connection: Arc<ConnectionState>,
}

/// Who a credential stands for.
#[derive(Debug)]
pub(in crate::http) enum Who {
    /// Somebody logged in.
    Caller(Caller),
    /// The holder of a token.
    Holder(TokenHolder),
}

impl Who {
    /// The account, or the owner of the token.
    pub(in crate::http) fn account(&self) -> &Account {
        match self {
            Self::Caller(caller) => caller.account(),
            Self::Holder(holder) => holder.owner(),
        }
    }

    /// The token's number.
    pub(in crate::http) fn token(&self) -> Option<u64> {
        match self {
            Self::Caller(_) => None,
            Self::Holder(holder) => Some(holder.number()),
        }
    }
}

impl RequestContext {
    /// The gate.
    pub(in crate::http) fn gate(&self) -> &Gate {
        &self.service.gate
    }

    /// Who is logged in, at the address that the request came from. What a page reads while nobody is at it is no use
    /// of the session, as with [`RequestContext::watcher`].
    pub(in crate::http) fn caller(&self) -> Result<Caller, Error> {
        if self.head.method.is_safe() && self.headers().contains_key(&UNATTENDED) {
            self.watcher()
        } else {
            self.logged_in(Gate::session)
        }
    }

    /// As [`RequestContext::caller`], for a request that a page sends by itself again and again: it is no
    /// use of the session, which ends as if it had not come.
    pub(in crate::http) fn watcher(&self) -> Result<Caller, Error> {
        self.logged_in(Gate::session_unused)
    }

    fn logged_in(
        &self,
        session: impl Fn(&Gate, &Secret) -> access::Result<Caller>,
    ) -> Result<Caller, Error> {
        let cookie = self.cookie().read(self.headers());
        let cookie = cookie.ok_or_else(Error::no_credential)?;
        let caller = session(self.gate(), &cookie)?.at(self.client);
        self.note(Who::Caller(caller.clone()));
        Ok(caller)
    }

    /// Notes who sent the request, for the log. The first to be noted stays.
    pub(in crate::http) fn note(&self, who: Who) {
        drop(self.who.set(who));
    }

    /// Who is logged in, as places are given out, looked up where nobody has yet. A watched request is no use of the
    /// session. Who is nobody needs no place to be told so, and takes no thread that others wait for.
    ///
    /// # Errors
    /// As [`RequestContext::caller`]; [`Error::Overloaded`].
    pub(in crate::http) async fn found_asker(&self, is_watched: bool) -> Result<Asker, Error> {
        if self.who.get().is_none() {
            let look = || {
                if is_watched {
                    self.watcher()
                } else {
                    self.caller()
                }
            };
            self.service.threads.look(look).await?;
        }
        Ok(self.asker())
    }

    /// Who sent the request, as far as that is known.
    pub(in crate::http) fn asker(&self) -> Asker {
        match self.who.get() {
            Some(Who::Caller(caller)) => Asker::Session(caller.account().number()),
            Some(Who::Holder(holder)) => Asker::Tokens(holder.owner().number()),
            None => Asker::Client(ClientNetwork::of(self.client)),
        }
    }

    /// A place for this request among those that wait for a change.
    ///
    /// # Errors
    /// Too many wait; or it is not known yet who sent it.
    pub(in crate::http) fn wait(&self) -> Result<WaitingPermit, Error> {
        let who = self.who.get().ok_or_else(Error::no_credential)?;
        let waiting = &self.service.waiting;
        waiting.enter(who.account(), who.token(), self.client)
    }

    /// The memory that this request may take for pieces of a large file.
    pub(in crate::http) fn piece_shares(&self) -> PieceShares {
        let credential = |who: &Who| Credential::new(who.account(), who.token());
        self.service.pieces.shares(self.who.get().map(credential))
    }

    /// Waits for room to make a list of about so many bytes as a whole, before it is made; what is made counts only
    /// once it is there. A list of up to [`SHORT_LIST_BYTES_MAX`] bytes needs none. A request asks for it once.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there was none in time.
    pub(in crate::http) fn room_to_list(
        &self,
        bytes: usize,
    ) -> Result<Option<FairPermit<'_>>, Error> {
        let is_long = bytes > SHORT_LIST_BYTES_MAX;
        let threads = &self.service.threads;
        is_long
            .then(|| threads.enter_to_list(self.asker()))
            .transpose()
    }

    /// Counts the bytes of an answer for who sent this request, as
    /// [`AnswerMemory::count`](crate::http::admission::answers::AnswerMemory::count) does. What nobody
    /// whom the service knows asked for is small.
    ///
    /// # Errors
    /// Who sent it, or all together, have too many in memory.
    pub(in crate::http) fn count(&self, bytes: Bytes) -> Result<Bytes, Error> {
        let Some(who) = self.who.get() else {
            return Ok(bytes);
        };
        let answers = &self.service.answers;
        answers.count(who.account(), who.token(), bytes)
    }

    /// The same for an answer that is given in any case, for it may tell of a change that was made: what comes next is
    /// refused in its place.
    pub(in crate::http) fn count_given(&self, bytes: Bytes) -> Bytes {
        let Some(who) = self.who.get() else {
            return bytes;
        };
        let answers = &self.service.answers;
        answers.count_given(who.account(), who.token(), bytes)
    }

    /// Takes memory for an answer of about so many bytes before the change that it is to tell of; `None` for one that
    /// is not counted.
    ///
    /// # Errors
    /// As [`RequestContext::count`].
    pub(in crate::http) fn room_to_answer(
        &self,
        bytes: usize,
    ) -> Result<Option<AnswerRoom>, Error> {
        let Some(who) = self.who.get() else {
            return Ok(None);
        };
        let answers = &self.service.answers;
        answers.room(who.account(), who.token(), bytes as u64)
    }

    /// Has it told in the audit log that this request is refused.
    pub(in crate::http) fn note_refusal(&self, what: Refused, refusal: &Refusal) {
        let request = format_args!("{} {}", self.head.method, self.head.uri.path());
        self.gate()
            .note_refusal(what, refusal, self.client, request);
    }

    /// The operator's settings.
    pub(in crate::http) fn settings(&self) -> &HttpSettings {
        &self.service.settings
    }

    /// The request's headers.
    pub(in crate::http) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The address of the service as this client knows it, without a slash at its end.
    pub(in crate::http) fn base_url(&self) -> String {
        base_url::base_url(&self.head.headers, self.peer, self.settings())
    }

    /// The session cookie as this client gets and sends it.
    pub(in crate::http) fn cookie(&self) -> SessionCookie {
        let headers = &self.head.headers;
        SessionCookie::new(base_url::is_https(headers, self.peer, self.settings()))
    }

    /// The address that was asked for, with all parameters, those of a form too, in a form for
    /// comparison: two requests with the same get the same links.
    pub(in crate::http) fn url(&self) -> String {
        let mut url = self.base_url();
        url.push_str(self.head.uri.path());
        for (key, value) in self.query.pairs() {
            let _infallible = write!(url, "\n{} {} {key}{value}", key.len(), value.len());
        }
        url
    }

    /// The address of the Read API as this client knows it, without a slash at its end: what a client
    /// of GitLab takes for the address of the whole service.
    pub(in crate::http) fn mount_url(&self) -> String {
        let mut base = self.base_url();
        let path = self.head.uri.path().trim_start_matches('/');
        base.push_str(match path.split('/').next() {
            Some("api") => "/api/v4",
            _ => "/site-builder/api/erp-config",
        });
        base
    }
}
