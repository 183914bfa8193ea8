//! What each answer is held against.

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::json;
use zip::ZipArchive;

use super::credentials::{Credential, Hidden, Session, Token};
use super::policy::Outcome;
use super::stage::MARKS;
use crate::harness::{Answer, User};
use crate::scene::Asked;

/// Counts cells, and which marks were seen by those who may see them.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) cells: usize,
    pub(super) refused: usize,
    pub(super) seen: BTreeSet<Hidden>,
}

impl Tally {
    /// Asserts the answer of one cell: its status and whole refusal, that it shows nothing of projects that
    /// are none of the sender's business, and that it does not repeat what the sender proved itself with.
    pub(super) fn check(
        &mut self,
        route: &str,
        credential: &Credential,
        expected: &Outcome,
        (asked, user): (&Asked, &User),
        answer: &Answer,
    ) {
        self.cells += 1;
        let (method, target) = (&asked.method, &asked.target);
        let cell = || format!("{method} {target} by {}", credential.name);
        match expected {
            Outcome::Done => {
                assert_eq!(answer.status, asked.status, "{}: {answer:?}", cell());
            }
            Outcome::Refused(status, message) => {
                self.refused += 1;
                assert_eq!(answer.status, *status, "{}: {answer:?}", cell());
                if !answer.to_head {
                    assert_eq!(answer.json(), json!({ "message": message }), "{}", cell());
                }
            }
        }
        let shown = everything(answer);
        for secret in user.secrets() {
            assert!(
                !shown.contains(secret),
                "{} repeats {secret}: {shown}",
                cell()
            );
        }
        for (hidden, mark) in MARKS {
            if !shown.contains(mark) && !shown.contains(&STANDARD.encode(mark)) {
                continue;
            }
            let by_token = route.contains("/erp-config/");
            let may = match (by_token, credential.token, credential.session) {
                (true, Token::Counts { sees, .. }, _) => sees.contains(&hidden),
                (false, _, Session::Of(account)) => account.sees.contains(&hidden),
                _ => false,
            };
            assert!(may, "{} sees {mark}: {shown}", cell());
            self.seen.insert(hidden);
        }
    }
}

/// All of an answer, unpacked where it is packed.
fn everything(answer: &Answer) -> String {
    let mut bytes = format!("{:?}", answer.headers).into_bytes();
    bytes.extend(&answer.body);
    if answer.body.starts_with(b"\x1f\x8b") {
        let mut gzip = GzDecoder::new(&answer.body[..]);
        gzip.read_to_end(&mut bytes).expect("it is gzip");
    }
    if answer.body.starts_with(b"PK") {
        let mut zip = ZipArchive::new(Cursor::new(&answer.body)).expect("it is a zip");
        for place in 0..zip.len() {
            let mut file = zip.by_index(place).expect("it is there");
            file.read_to_end(&mut bytes).expect("it is whole");
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
