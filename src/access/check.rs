//! Decoding records of this layer to see whether they make sense.

use serde::de::DeserializeOwned;

use super::account::Account;
use super::session_records::{Session, SessionOfAccount};
use super::token::{Token, TokenOfDigest};
use crate::store::{Record, Result};

/// Decodes a record of accounts, sessions or tokens. `None` where its key is none of theirs.
pub fn decode_record(record: &Record) -> Option<Result<()>> {
    let (kind, _) = record.key.split_once('/')?;
    Some(match kind {
        "account" => decode::<Account>(record),
        "account-name" | "moved-account" => decode::<u64>(record),
        "session" => decode::<Session>(record),
        "account-session" => decode::<SessionOfAccount>(record),
        "token" => decode::<Token>(record),
        "token-digest" => decode::<TokenOfDigest>(record),
        _ => return None,
    })
}

fn decode<T: DeserializeOwned + Send + Sync + 'static>(record: &Record) -> Result<()> {
    record.decode::<T>().map(drop)
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::base::digest::sha256;
    use crate::base::secret::{Secret, ServerKey};

    /// What stands in the document in the block of this name.
    fn block(name: &str) -> &'static str {
        let document = include_str!("../../objects-layout.md");
        let begin = format!("\n```{name}\n");
        let block = document.split_once(begin.as_str()).map(|(_, block)| block);
        let block = block.and_then(|block| block.split_once("\n```"));
        block.unwrap_or_else(|| panic!("no block \"{name}\"")).0
    }

    /// The example of this name, read, and held against the document when it is written again.
    fn example<T: Serialize + DeserializeOwned>(name: &str) -> T {
        let text = block(&format!("json {name}"));
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text, "{name}");
        value
    }

    fn digest_of(digit: &str) -> crate::base::id::Sha256 {
        Secret::parse(digit.repeat(64).as_bytes()).unwrap().digest()
    }

    #[test]
    fn the_examples_of_records_are_read_and_written_as_they_stand() {
        example::<Account>("account");
        let session: Session = example("session");
        let listed: SessionOfAccount = example("account-session");
        let [zeros, ones, twos, threes] = ["0", "1", "2", "3"].map(digest_of);
        assert_eq!([session.digest, listed.digest], [zeros; 2]);
        let token: Token = example("token");
        assert_eq!((token.digest, token.migrated_terms), (ones, None));
        let token: Token = example("token-moved");
        assert_eq!(token.digest, twos);
        assert_eq!(token.earlier.unwrap().digest, threes);
        let lead: TokenOfDigest = example("token-digest");
        assert_eq!((lead.account, lead.token), (token.account, token.number));
    }

    #[test]
    fn what_a_token_came_with_and_is_bound_to_is_digested_as_the_document_says() {
        let token: Token = example("token-moved");
        assert_eq!(token.migrated_terms, Some(token.terms()));
        assert_eq!(
            token.migrated_terms,
            Some(sha256(block("token-terms").as_bytes()))
        );
        let key = ServerKey::parse(&"0".repeat(64)).unwrap();
        let bound = String::from(key.fingerprint(token.number, b"erp-1"));
        let instance = [&2_u64.to_le_bytes()[..], b"erp-1"].concat();
        let digits = blake3::keyed_hash(&[0; 32], &instance).to_string();
        assert_eq!(bound, digits);
        assert_eq!(token.fingerprint.map(String::from), Some(digits));
    }
}
