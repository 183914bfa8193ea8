//! Requests that wait for a change: they take memory, a connection and nothing else.

use std::net::IpAddr;
use std::sync::Arc;

use super::credential::{Credential, CredentialQuota, CredentialShare};
use super::network::ClientNetwork;
use super::quota::{Full, Quota, Share};
use crate::access::Account;
use crate::base::limits::{
    WAITING_KEPT_FOR_SESSIONS_PART, WAITING_LEAVE_CONNECTIONS_PART, WAITING_LEFT_BY_ACCOUNT_PART,
};
use crate::http::error::Error;
use crate::http::metrics::tallies::Tallies;
use crate::http::settings::Limits;

/// When somebody who has all it may is to come again, in seconds.
const RETRY_AFTER_S: u64 = 5;

/// Room for such requests.
#[derive(Debug)]
pub(in crate::http) struct WaitingRequests {
    of_credential: CredentialQuota,
    of_client: Arc<Quota<ClientNetwork>>,
    tallies: Arc<Tallies>,
}

/// One request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct WaitingPermit {
    tallies: Arc<Tallies>,
    _shares: (CredentialShare, Share<ClientNetwork>),
}

impl WaitingRequests {
    /// Nobody waits yet. Those who do are counted there.
    ///
    /// # Limits
    /// One connection in [`WAITING_LEAVE_CONNECTIONS_PART`] is for who does not wait, whatever the settings say. One
    /// place in [`WAITING_KEPT_FOR_SESSIONS_PART`] is for accounts that are logged in, and the tokens of one
    /// leave one in [`WAITING_LEFT_BY_ACCOUNT_PART`]: one account may have all clients of a company.
    pub(in crate::http) fn new(limits: &Limits, tallies: &Arc<Tallies>) -> Self {
        let address_max = match limits.waiting_address_max {
            0 => u64::MAX,
            most => most,
        };
        let connections = limits.connections_max;
        let connections_left = connections.div_ceil(WAITING_LEAVE_CONNECTIONS_PART);
        let all_max = limits
            .waiting_max
            .min(connections - connections_left)
            .max(1);
        Self {
            of_credential: CredentialQuota::with_parts(
                all_max,
                limits.waiting_credential_max,
                all_max.div_ceil(WAITING_KEPT_FOR_SESSIONS_PART),
                all_max - all_max / WAITING_LEFT_BY_ACCOUNT_PART,
            ),
            of_client: Quota::new(u64::MAX, address_max),
            tallies: Arc::clone(tallies),
        }
    }

    /// Takes a place for a request of this account, or of its token of this number, that came from here.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a credential or a client that has its part already, [`Error::Overloaded`].
    pub(in crate::http) fn enter(
        &self,
        account: &Account,
        token: Option<u64>,
        client: IpAddr,
    ) -> Result<WaitingPermit, Error> {
        let refused = |full: Full, of_one| {
            full.refused(
                account.name(),
                of_one,
                "too many requests wait",
                RETRY_AFTER_S,
            )
        };
        let credential = Credential::new(account, token);
        let of_credential = self.of_credential.take(credential, 1);
        let of_credential = of_credential
            .map_err(|full| refused(full, "too many requests of one token or account wait"))?;
        let of_client = self.of_client.take(ClientNetwork::of(client), 1);
        let of_client =
            of_client.map_err(|full| refused(full, "too many requests of one address wait"))?;
        let tallies = Arc::clone(&self.tallies);
        tallies.requests_waiting.up();
        Ok(WaitingPermit {
            tallies,
            _shares: (of_credential, of_client),
        })
    }
}

impl Drop for WaitingPermit {
    fn drop(&mut self) {
        self.tallies.requests_waiting.down();
    }
}
