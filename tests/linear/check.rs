//! Whether a history is linearizable: whether there is an order of its calls, each at one moment between
//! its sending and its answer, in which a sequential service would have given the same answers.
//!
//! The search of Wing and Gong: of the calls that may come next, one is tried after the other. What was
//! tried before, the same calls in another order that led to the same state, is not tried again (Lowe).
//! Things of which no call tells together, such as files and tokens, are held each against its own calls:
//! all have an order if each has one (Herlihy and Wing).

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

/// Configurations that are looked at before a history counts as undecided.
const CONFIGURATIONS_MAX: usize = 1_000_000;

/// A call of a history. Times are those of one monotonic clock.
#[derive(Clone, Debug)]
pub(crate) struct Event<C> {
    /// What was asked and answered.
    pub(crate) call: C,
    /// When it was sent.
    pub(crate) sent: Duration,
    /// When it had taken effect at the latest: when its answer came, or who was asked had died. `None`
    /// while it may take effect at any later time.
    pub(crate) until: Option<Duration>,
    /// True with an answer. Without one the call may also never have taken effect.
    pub(crate) is_answered: bool,
}

/// What a service does when nobody else calls.
pub(crate) trait Model {
    type State: Clone + Eq + Hash;
    type Call;

    /// The state after a call; `None` if it would have been answered otherwise.
    fn after(&self, state: &Self::State, call: &Self::Call) -> Option<Self::State>;

    /// True for a call that with this answer changes no state whatsoever.
    fn only_reads(call: &Self::Call) -> bool;
}

/// Why there is no order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is none. The longest beginning of one, by places in the history.
    NotLinearizable(Vec<usize>),
    /// It would take too long to say.
    Undecided,
}

/// Looks for an order of all calls of a history that were answered, and of any of those that were not.
///
/// # Errors
/// [`Fault`], where there is none.
pub(crate) fn check<M: Model>(
    model: &M,
    first: &M::State,
    history: &[Event<M::Call>],
) -> Result<(), Fault> {
    let mut search = Search {
        model,
        history,
        seen: HashSet::new(),
        order: Vec::new(),
        longest: Vec::new(),
    };
    let none = vec![false; history.len()];
    if search.goes_on(&none, first)? {
        Ok(())
    } else {
        Err(Fault::NotLinearizable(search.longest))
    }
}

struct Search<'a, M: Model> {
    model: &'a M,
    history: &'a [Event<M::Call>],
    /// What leads nowhere: which calls have taken effect, and the state after them.
    seen: HashSet<(Vec<bool>, M::State)>,
    order: Vec<usize>,
    longest: Vec<usize>,
}

impl<M: Model> Search<'_, M> {
    /// True if what is not `done` can follow from this state.
    fn goes_on(&mut self, done: &[bool], state: &M::State) -> Result<bool, Fault> {
        let Some(next) = self.next(done, state) else {
            return Ok(true);
        };
        for (at, after) in next {
            let mut done = done.to_vec();
            done[at] = true;
            let configuration = (done, after);
            if self.seen.contains(&configuration) {
                continue;
            }
            if self.seen.len() == CONFIGURATIONS_MAX {
                return Err(Fault::Undecided);
            }
            self.order.push(at);
            if self.order.len() > self.longest.len() {
                self.longest.clone_from(&self.order);
            }
            if self.goes_on(&configuration.0, &configuration.1)? {
                return Ok(true);
            }
            self.order.pop();
            self.seen.insert(configuration);
        }
        Ok(false)
    }

    /// The calls of which one takes effect next, with the states after them; `None` when all have taken
    /// effect that were answered.
    fn next(&self, done: &[bool], state: &M::State) -> Option<Vec<(usize, M::State)>> {
        let history = self.history;
        let left = (0..done.len()).filter(|at| !done[*at]);
        let (answered, open): (Vec<_>, Vec<_>) = left.partition(|at| history[*at].is_answered);
        // No call takes effect that was sent after another had been answered that has not.
        let first_end = answered.iter().map(|at| self.end_of(*at)).min()?;
        // Nor one that was over before another was sent that has.
        let sent = (0..done.len()).filter(|at| done[*at]);
        let last_sent = sent.map(|at| history[at].sent).max().unwrap_or_default();
        let may_be_next =
            |at: &usize| history[*at].sent <= first_end && self.end_of(*at) >= last_sent;
        let mut next = Vec::new();
        for at in answered.into_iter().filter(may_be_next) {
            let Some(after) = self.model.after(state, &history[at].call) else {
                continue;
            };
            // What only reads may come at once, unless that shuts out one that may still come before.
            let shuts_out =
                |other: &usize| may_be_next(other) && self.end_of(*other) < history[at].sent;
            if M::only_reads(&history[at].call) && !open.iter().any(shuts_out) {
                return Some(vec![(at, after)]);
            }
            next.push((at, after));
        }
        next.sort_by_key(|(at, _)| self.end_of(*at));
        for at in open.into_iter().filter(may_be_next) {
            let after = self.model.after(state, &history[at].call);
            // What changes nothing now need not take effect now.
            next.extend(
                after
                    .filter(|after| after != state)
                    .map(|after| (at, after)),
            );
        }
        Some(next)
    }

    fn end_of(&self, at: usize) -> Duration {
        self.history[at].until.unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that is written and read.
    struct Register;

    #[derive(Clone, Copy, Debug)]
    enum Call {
        Write(u8),
        Read(u8),
        /// From the first to the second, where the first is there.
        Exchange(u8, u8),
    }
    use Call::{Exchange, Read, Write};

    impl Model for Register {
        type State = u8;
        type Call = Call;

        fn after(&self, state: &u8, call: &Call) -> Option<u8> {
            match *call {
                Write(value) => Some(value),
                Read(value) => (value == *state).then_some(value),
                Exchange(from, to) => (from == *state).then_some(to),
            }
        }

        fn only_reads(call: &Call) -> bool {
            matches!(call, Read(_))
        }
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn answered(call: Call, sent: u64, until: u64) -> Event<Call> {
        Event {
            call,
            sent: ms(sent),
            until: Some(ms(until)),
            is_answered: true,
        }
    }

    /// Without an answer; who was asked lived until then.
    fn cut_off(call: Call, sent: u64, until: Option<u64>) -> Event<Call> {
        Event {
            until: until.map(ms),
            is_answered: false,
            ..answered(call, sent, 0)
        }
    }

    #[track_caller]
    fn assert_linearizable(history: &[Event<Call>], is_linearizable: bool) {
        let outcome = check(&Register, &0, history);
        assert_eq!(outcome.is_ok(), is_linearizable, "{outcome:?}");
        // Whatever the places of the calls.
        let reversed: Vec<_> = history.iter().rev().cloned().collect();
        assert_eq!(check(&Register, &0, &reversed).is_ok(), is_linearizable);
    }

    #[test]
    fn calls_one_after_the_other_have_one_order() {
        assert_linearizable(&[], true);
        assert_linearizable(&[answered(Write(1), 0, 1), answered(Read(1), 2, 3)], true);
        // Stale, and of the future.
        assert_linearizable(&[answered(Write(1), 0, 1), answered(Read(0), 2, 3)], false);
        assert_linearizable(&[answered(Read(1), 0, 1), answered(Write(1), 2, 3)], false);
    }

    #[test]
    fn calls_at_once_have_any_order_and_all_see_the_same() {
        let write = answered(Write(1), 0, 10);
        for seen in [0, 1] {
            assert_linearizable(&[write.clone(), answered(Read(seen), 1, 2)], true);
        }
        let (old, new) = (answered(Read(0), 1, 2), answered(Read(1), 3, 4));
        assert_linearizable(&[write.clone(), old, new], true);
        // Forth and back.
        let (new, old) = (answered(Read(1), 1, 2), answered(Read(0), 3, 4));
        assert_linearizable(&[write, new, old], false);
    }

    #[test]
    fn a_lost_update_has_no_order() {
        let (a, b) = (
            answered(Exchange(0, 1), 0, 10),
            answered(Exchange(0, 2), 0, 10),
        );
        assert_linearizable(&[a.clone(), b.clone()], false);
        assert_linearizable(&[a, answered(Exchange(1, 2), 0, 10)], true);
        assert_linearizable(&[b, cut_off(Exchange(0, 1), 0, Some(10))], true);
    }

    #[test]
    fn what_was_cut_off_takes_effect_once_or_never_and_not_after_its_end() {
        for until in [Some(5), None] {
            let write = cut_off(Write(1), 0, until);
            assert_linearizable(std::slice::from_ref(&write), true);
            assert_linearizable(&[write.clone(), answered(Read(0), 6, 7)], true);
            assert_linearizable(&[write.clone(), answered(Read(1), 6, 7)], true);
            let (old, new) = (answered(Read(0), 6, 7), answered(Read(1), 8, 9));
            // Late: only who lives on may still do it.
            assert_linearizable(&[write.clone(), old.clone(), new.clone()], until.is_none());
            // Twice.
            let (again, other) = (answered(Read(1), 12, 13), answered(Write(2), 10, 11));
            assert_linearizable(&[write, new, other, again], false);
        }
        // Before it was asked for.
        assert_linearizable(
            &[answered(Read(1), 0, 1), cut_off(Write(1), 2, None)],
            false,
        );
    }

    #[test]
    fn what_changes_nothing_first_may_change_something_later() {
        let (write, undo) = (answered(Write(1), 0, 10), answered(Write(0), 0, 10));
        let seen = [answered(Read(1), 0, 10), answered(Read(0), 11, 12)];
        let [during, after] = seen;
        assert_linearizable(
            &[undo.clone(), write.clone(), during.clone(), after.clone()],
            true,
        );
        let undo = cut_off(Write(0), 0, Some(10));
        assert_linearizable(&[undo, write, during, after], true);
    }

    #[test]
    fn many_calls_at_once_are_decided_by_their_states() {
        // 12! orders, and 2^12 sets of calls.
        let mut history: Vec<_> = (0..12).map(|at| answered(Write(at % 2), 0, 10)).collect();
        for (read, is_linearizable) in [(1, true), (7, false)] {
            history.push(answered(Read(read), 11, 12));
            assert_linearizable(&history, is_linearizable);
            history.pop();
        }
    }
}
