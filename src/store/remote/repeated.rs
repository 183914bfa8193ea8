//! Warnings that would be told again and again for as long as something lasts.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::threads::lock;

/// After so long the same is told again.
const AGAIN_AFTER: Duration = Duration::from_mins(1);
/// So many different ones are told in that time.
const TOLD_MAX: usize = 16;

/// What was told, and when.
#[derive(Debug, Default)]
pub(in crate::store) struct Repeated(Mutex<Vec<(String, Instant)>>);

impl Repeated {
    /// True if this is to be told now: it was not told in the last minute, and not too much else was.
    pub(in crate::store) fn is_due(&self, text: &str) -> bool {
        let mut told = self.told();
        told.retain(|(_, at)| at.elapsed() < AGAIN_AFTER);
        let is_due = told.len() < TOLD_MAX && told.iter().all(|(last, _)| last != text);
        if is_due {
            told.push((text.to_owned(), Instant::now()));
        }
        is_due
    }

    /// It is over: the next is told, whatever it is.
    pub(in crate::store) fn end(&self) {
        self.told().clear();
    }

    fn told(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_same_is_told_once_a_minute_and_what_is_news_at_once() {
        let repeated = Repeated::default();
        let told = |texts: &[&str]| {
            texts
                .iter()
                .map(|it| repeated.is_due(it))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told(&["away", "away", "full", "full", "away"]),
            [true, false, true, false, false]
        );
        advance(Duration::from_secs(59)).await;
        assert!(!repeated.is_due("away"));
        advance(Duration::from_secs(1)).await;
        assert_eq!(told(&["away", "away"]), [true, false]);
        repeated.end();
        assert!(repeated.is_due("away"));
        let different = (0..40).filter(|number| repeated.is_due(&number.to_string()));
        assert_eq!(different.count(), TOLD_MAX - 1);
    }
}
