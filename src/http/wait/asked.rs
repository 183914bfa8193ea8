//! How long a request would wait.

use std::time::Duration;

use crate::base::limits::WAIT_S_MAX;
use crate::http::error::Error;
use crate::http::request::query::Query;

/// Takes `wait` out of the query: what is shown depends on all but that, so who waits gets the same
/// bytes, tags and links as who does not.
///
/// # Errors
/// It is no number of seconds, or more than [`WAIT_S_MAX`].
pub(in crate::http) fn take(query: &mut Query) -> Result<Duration, Error> {
    let Some(wait) = query.take("wait")? else {
        return Ok(Duration::ZERO);
    };
    let is_number = !wait.is_empty() && wait.bytes().all(|b| b.is_ascii_digit());
    match wait.parse() {
        Ok(seconds @ 0..=WAIT_S_MAX) if is_number => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::Malformed(format!(
            "wait is invalid: it must be a number of seconds, 0 to {WAIT_S_MAX}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_of_seconds() {
        let wait = |text: &str| {
            let mut query = Query::parse(text).unwrap();
            let wait = take(&mut query).ok();
            assert!(wait.is_none() || query.pairs().all(|(key, _)| key != "wait"));
            wait
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait("x=1"), seconds(0));
        assert_eq!(wait("wait=0"), seconds(0));
        assert_eq!(wait("x=1&wait=60&y"), seconds(60));
        for wrong in [
            "61",
            "-1",
            "",
            "x",
            "1.5",
            "%2B5",
            "+5",
            "1e1",
            "99999999999999999999",
        ] {
            assert_eq!(wait(&format!("wait={wrong}")), None, "{wrong}");
        }
    }
}
