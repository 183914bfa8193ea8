//! How long a request may take, and how it is asked again that failed for a moment: each time anew, with the keys and
//! the time of then.

use std::time::Duration;

use object_store::Result;
use tokio::time::{Instant, sleep, timeout_at};

use super::client::silence;
use super::refusal::is_passing;

/// The patience with a kind of request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long it may take with all its repetitions.
    longest: Duration,
    /// It is repeated until so long after its beginning, and so often.
    repeated_for: Duration,
    repeats_max: u32,
    /// Before the first repetition; from one to the next it doubles, up to the longest.
    first_pause: Duration,
    longest_pause: Duration,
}

impl Patience {
    /// With what somebody waits for on a thread of few: some four seconds where it is refused at once, and a third
    /// attempt where it is not answered. The last attempt has ended when all is over.
    pub(super) const OF_CALL: Self = Self {
        longest: Duration::from_secs(20),
        repeated_for: Duration::from_secs(15),
        repeats_max: 8,
        first_pause: Duration::from_millis(50),
        longest_pause: Duration::from_secs(1),
    };
    /// With a list, which servers make of all names that they have.
    pub(super) const OF_LIST: Self = Self {
        longest: Duration::from_secs(90),
        ..Self::OF_CALL
    };
    /// With a file that is sent at once: who sends it begins again, and has lost little.
    pub(super) const OF_FILE: Self = Self {
        longest: Duration::from_mins(2),
        ..Self::OF_CALL
    };
    /// With a part of a larger file, and with putting parts together: without it all that was sent is lost.
    pub(super) const OF_PART: Self = Self {
        longest: Duration::from_mins(2),
        repeated_for: Duration::from_mins(2),
        repeats_max: u32::MAX,
        first_pause: Duration::from_millis(500),
        longest_pause: Duration::from_secs(5),
    };

    /// How long a request may take with all its repetitions.
    pub(super) const fn longest(self) -> Duration {
        self.longest
    }

    /// Asks, and asks again while another try may do.
    pub(super) async fn ask<T, A>(self, asking: impl Fn() -> A) -> Result<T>
    where
        A: Future<Output = Result<T>>,
    {
        let begun = Instant::now();
        let mut pause = self.first_pause;
        let mut repeats = 0;
        loop {
            let answer = timeout_at(begun + self.longest, asking()).await;
            let answer = answer.unwrap_or_else(|_| Err(silence("it takes too long")));
            let is_over =
                repeats == self.repeats_max || begun.elapsed() + pause > self.repeated_for;
            match answer {
                Err(error) if !is_over && is_passing(&error) => {}
                answer => return answer,
            }
            // Not all at once.
            sleep(pause.mul_f64(rand::random_range(0.75..1.0))).await;
            pause = self.longest_pause.min(pause * 2);
            repeats += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use object_store::Error;

    use super::super::client::unexpected;
    use super::*;

    fn refused(status: u16) -> Error {
        unexpected(format!(
            "Server returned non-2xx status code: {status} Of Some Kind: "
        ))
    }

    /// How often it was asked, and how long that took, in seconds, where each time takes so long and fails so.
    async fn asked(patience: Patience, takes: Duration, fails: impl Fn() -> Error) -> (u32, u64) {
        let (begun, asked) = (Instant::now(), Cell::new(0));
        let ask = || async {
            asked.set(asked.get() + 1);
            sleep(takes).await;
            Err::<(), _>(fails())
        };
        patience.ask(ask).await.unwrap_err();
        (asked.get(), begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_for_a_moment_is_asked_again_for_seconds_and_a_part_for_minutes() {
        let slow_down = || refused(503);
        let (times, seconds) = asked(Patience::OF_CALL, Duration::ZERO, slow_down).await;
        assert!(
            times == 9 && (3..=4).contains(&seconds),
            "{times} {seconds}"
        );
        let (times, seconds) = asked(Patience::OF_PART, Duration::ZERO, slow_down).await;
        assert!(
            times > 20 && (110..=120).contains(&seconds),
            "{times} {seconds}"
        );

        // What is not answered is tried a third time.
        let late = || silence("late");
        let (times, seconds) = asked(Patience::OF_CALL, Duration::from_secs(5), late).await;
        assert_eq!((times, seconds), (3, 15));
        let (times, seconds) = asked(Patience::OF_CALL, Duration::from_mins(9), late).await;
        assert_eq!((times, seconds), (1, 20));
        let (times, _) = asked(Patience::OF_LIST, Duration::from_mins(1), late).await;
        assert_eq!(times, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_not_asked_again() {
        for status in [400, 403, 404, 416, 501, 507] {
            let refused = asked(Patience::OF_PART, Duration::ZERO, || refused(status)).await;
            assert_eq!(refused, (1, 0), "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_to_a_repetition_counts() {
        let asked = Cell::new(0);
        let ask = || async {
            asked.set(asked.get() + 1);
            if asked.get() < 3 {
                Err(refused(500))
            } else {
                Ok(asked.get())
            }
        };
        assert_eq!(Patience::OF_CALL.ask(ask).await.unwrap(), 3);
    }
}
