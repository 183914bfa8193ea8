//! A point in time as a file says it.

use serde::Deserialize;

use crate::base::clock::Timestamp;

/// A point in time, as the Admin API takes one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Given")]
pub(super) struct When(pub(super) Timestamp);

/// What a time must be.
pub(super) const RULE: &str = "a time must be RFC 3339, YYYY-MM-DD or a number of Unix seconds";

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a time must be RFC 3339, YYYY-MM-DD or a number of Unix seconds"
)]
enum Given {
    Text(String),
    Number(i64),
}

impl TryFrom<Given> for When {
    type Error = &'static str;

    fn try_from(given: Given) -> Result<Self, &'static str> {
        let at = match given {
            Given::Text(text) => Timestamp::parse(&text),
            Given::Number(number) => Timestamp::from_number(number),
        };
        at.map(Self).ok_or(RULE)
    }
}
