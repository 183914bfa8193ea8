//! Who asks the bucket: all while it answers, and one at a time, now and then, while it does not, or fails. So it is
//! with what lies at one place, where that alone is silent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use object_store::Error;
use tokio::time::Instant;

use super::patience::Patience;
use crate::base::threads::lock;

/// After a request that the bucket did not answer, one is tried.
const PAUSE: Duration = Duration::from_millis(500);
/// The same of what lies at a place that is silent while others are not: who tries has a thread meanwhile that reads
/// nothing else.
const PAUSE_OF_PLACE: Duration = Duration::from_secs(5);
/// So long others leave it to the one who tries.
const TRY_MAX: Duration = Patience::OF_CALL.longest();
/// A silent place that nobody has asked for since is forgotten.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);

/// Lets in who asks, or not.
#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Until when nobody asks the bucket; none while it answers.
    shut_until: Option<Instant>,
    /// When it answered last.
    answered: Option<Instant>,
    /// Until when nobody asks for what lies at these places.
    silent: HashMap<String, Instant>,
}

impl State {
    /// True if anybody has had an answer since this one was let in.
    fn has_answered_since(&self, pass: &Pass<'_>) -> bool {
        self.answered.is_some_and(|at| at > pass.begun)
    }
}

/// One who was let in.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    begun: Instant,
    place: Option<&'a str>,
}

impl Pass<'static> {
    /// Of one who looks how the bucket is, at any time: where all others ask for what is silent, nobody else finds out.
    pub(super) fn of_look() -> Self {
        Self {
            begun: Instant::now(),
            place: None,
        }
    }
}

impl Gate {
    /// Lets one in who asks for what lies at a place, or for something else; none where that would be in vain.
    pub(super) fn enter<'a>(&self, place: Option<&'a str>) -> Option<Pass<'a>> {
        let begun = Instant::now();
        let mut state = self.state();
        let State {
            shut_until, silent, ..
        } = &mut *state;
        let of_place = place.and_then(|place| silent.get_mut(place));
        let untils: Vec<_> = shut_until.iter_mut().chain(of_place).collect();
        if untils.iter().any(|until| begun < **until) {
            return None;
        }
        for until in untils {
            *until = begun + TRY_MAX;
        }
        Some(Pass { begun, place })
    }

    /// Notes that who was let in has an answer, whatever it says.
    pub(super) fn note_answer(&self, pass: &Pass<'_>) {
        let mut state = self.state();
        state.answered = Some(Instant::now());
        if let Some(place) = pass.place {
            state.silent.remove(place);
        }
        if state.shut_until.take().is_some() {
            tracing::info!("the bucket of large files answers again");
        }
    }

    /// Notes that one attempt of who was let in has got no answer. While others are answered, whoever comes for what
    /// lies at its place leaves it to those who ask for it already: each of them has a thread meanwhile.
    pub(super) fn note_attempt(&self, pass: &Pass<'_>) {
        let mut state = self.state();
        if let (Some(place), true) = (pass.place, state.has_answered_since(pass)) {
            let until = Instant::now() + TRY_MAX;
            state.silent.insert(place.to_owned(), until);
        }
    }

    /// Notes that who was let in has none. The bucket is silent if nobody has had one since then: else something in it
    /// is, as where one of its disks hangs.
    pub(super) fn note_silence(&self, pass: &Pass<'_>, error: &Error) {
        let now = Instant::now();
        let mut state = self.state();
        if !state.has_answered_since(pass) {
            if state.shut_until.replace(now + PAUSE).is_none() {
                tracing::warn!(%error, "the bucket of large files does not answer, or fails");
            }
        } else if let Some(place) = pass.place {
            let silent = &mut state.silent;
            silent.retain(|_, until| now < *until + REMEMBERED_FOR);
            silent.insert(place.to_owned(), now + PAUSE_OF_PLACE);
        }
    }

    /// True while the bucket as a whole would be asked in vain.
    pub(super) fn is_shut(&self) -> bool {
        let shut_until = self.state().shut_until;
        shut_until.is_some_and(|until| Instant::now() < until)
    }

    /// True from when the bucket did not answer till it does.
    pub(super) fn is_away(&self) -> bool {
        self.state().shut_until.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::super::client::silence;
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    fn is_let_in(gate: &Gate, place: &str) -> bool {
        gate.enter(Some(place)).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_asks_a_bucket_that_is_silent() {
        let gate = Gate::default();
        let asked = gate.enter(None).unwrap();
        advance(MOMENT).await;
        gate.note_silence(&asked, &silence("no"));
        assert!(gate.is_away() && gate.is_shut() && !is_let_in(&gate, "a"));
        advance(PAUSE).await;
        assert!(gate.is_away() && !gate.is_shut());
        let tries = gate.enter(Some("a")).unwrap();
        assert!(gate.is_shut() && gate.enter(None).is_none());
        // Who tries may never come back.
        advance(TRY_MAX).await;
        assert!(is_let_in(&gate, "b") && !is_let_in(&gate, "b"));
        gate.note_answer(&tries);
        assert!(!gate.is_away() && is_let_in(&gate, "b"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_silent_while_others_are_answered_is_asked_for_by_one_at_a_time() {
        let gate = Gate::default();
        let hung = gate.enter(Some("hung")).unwrap();
        advance(MOMENT).await;
        gate.note_answer(&gate.enter(Some("other")).unwrap());
        gate.note_silence(&hung, &silence("no"));
        assert!(!gate.is_away() && is_let_in(&gate, "other"));
        assert!(!is_let_in(&gate, "hung"));
        // So it is from the first attempt on, as long as that one asks.
        let slow = gate.enter(Some("slow")).unwrap();
        advance(MOMENT).await;
        gate.note_attempt(&slow);
        assert!(is_let_in(&gate, "slow"));
        gate.note_answer(&gate.enter(Some("other")).unwrap());
        gate.note_attempt(&slow);
        assert!(!is_let_in(&gate, "slow"));
        gate.note_answer(&slow);
        assert!(is_let_in(&gate, "slow"));
        advance(PAUSE_OF_PLACE).await;
        let again = gate.enter(Some("hung")).unwrap();
        assert!(!is_let_in(&gate, "hung"));
        gate.note_answer(&again);
        assert!(is_let_in(&gate, "hung") && is_let_in(&gate, "hung"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_looks_opens_it_for_others_though_who_tries_is_not_answered() {
        let gate = Gate::default();
        let hung = gate.enter(Some("hung")).unwrap();
        advance(MOMENT).await;
        gate.note_silence(&hung, &silence("no"));
        advance(PAUSE).await;
        let again = gate.enter(Some("hung")).unwrap();
        assert!(!is_let_in(&gate, "other"));
        advance(MOMENT).await;
        gate.note_answer(&Pass::of_look());
        gate.note_silence(&again, &silence("no"));
        assert!(!gate.is_away() && is_let_in(&gate, "other") && !is_let_in(&gate, "hung"));
    }
}
