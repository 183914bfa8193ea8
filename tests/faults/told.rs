//! What a client was told, held against what there is after a fault: the recorded history.

use std::collections::BTreeMap;

/// What is to be found of what a client owns: names, and what is under them. A name that is not there is
/// gone.
pub(crate) type State = BTreeMap<String, String>;

/// A change that a client asked for.
#[derive(Clone, Debug)]
struct Asked {
    /// All that the client owns, once it is made.
    after: State,
    /// How it was answered, by the id of the answer; `None` while there is no answer.
    answer: Option<String>,
    /// The id of the answer by which it was seen that it was not made and never will be, where none told
    /// what became of it. It may be there until then.
    missed: Option<String>,
}

/// A snapshot that an answer named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The id of the answer.
    pub(crate) answer: String,
    pub(crate) version: u64,
    pub(crate) operation: &'static str,
}

/// The changes of one client, who waits for each answer before the next change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    first: State,
    asked: Vec<Asked>,
    /// Snapshots that answers named.
    pub(crate) snapshots: Vec<Named>,
    /// Statuses of refusals.
    pub(crate) refusals: Vec<u16>,
}

impl Told {
    /// What stands for certain, or is on its way.
    pub(crate) fn last(&self) -> &State {
        let stands = self.asked.iter().rfind(|asked| asked.missed.is_none());
        stands.map_or(&self.first, |asked| &asked.after)
    }

    /// Notes a change that is sent now, by what there is after it.
    pub(crate) fn ask(&mut self, after: State) {
        self.asked.push(Asked {
            after,
            answer: None,
            missed: None,
        });
    }

    /// Notes that the last change was made, as the answer of this id says.
    pub(crate) fn answered(&mut self, id: &str) {
        let asked = self.asked.last_mut().expect("something was asked");
        asked.answer = Some(id.to_owned());
    }

    /// Notes that the last change was refused with this status, so that nothing of it may be there; or that
    /// it failed, as with a sync that failed, so that it may be there or not, as without an answer.
    pub(crate) fn refused(&mut self, status: u16, has_failed: bool) {
        if !has_failed {
            self.asked.pop();
        }
        self.refusals.push(status);
    }

    /// True if an answer to the last change is yet to come.
    pub(crate) fn is_waiting(&self) -> bool {
        let last = self.asked.last();
        last.is_some_and(|asked| asked.answer.is_none() && asked.missed.is_none())
    }

    /// The two states that may be there when all answers with ids that satisfy this were given: what was
    /// acknowledged last, and the first after it that was sent and not yet missed.
    fn may_be(&self, was_given: impl Fn(&str) -> bool) -> [&State; 2] {
        let has = |id: &Option<String>| id.as_deref().is_some_and(&was_given);
        let acknowledged = self.asked.iter().rposition(|asked| has(&asked.answer));
        let (stands, next) = match acknowledged {
            None => (&self.first, 0),
            Some(at) => (&self.asked[at].after, at + 1),
        };
        let sent = self.asked[next..].iter().find(|sent| !has(&sent.missed));
        [stands, sent.map_or(stands, |sent| &sent.after)]
    }

    /// Holds what is found against what was told until then.
    ///
    /// # Errors
    /// A sentence on what was lost, or is there by halves.
    pub(crate) fn check(
        &self,
        found: &State,
        was_given: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let may_be = self.may_be(was_given);
        if may_be.contains(&found) {
            return Ok(());
        }
        let short = |state: &State| -> Vec<String> {
            let shown = |(name, value): (&String, &String)| format!("{name}={:.40}", value.trim());
            state.iter().map(shown).collect()
        };
        let [stands, next] = may_be.map(short);
        Err(format!(
            "acknowledged: {stands:?}; sent after it: {next:?}; found: {:?}",
            short(found)
        ))
    }

    /// How many changes were acknowledged.
    pub(crate) fn answers(&self) -> u64 {
        self.asked
            .iter()
            .filter(|asked| asked.answer.is_some())
            .count() as u64
    }

    /// Goes on from what was found when the daemon was there again, and keeps the history: what was read
    /// then is there from then on, as if the answer of this id had said so, and what was not is not.
    pub(crate) fn was_read(&mut self, found: &State, id: &str) {
        if !self.is_waiting() {
            return;
        }
        if self.last() == found {
            self.answered(id);
        } else if let Some(asked) = self.asked.last_mut() {
            asked.missed = Some(id.to_owned());
        }
    }

    /// Goes on from what was found.
    pub(crate) fn go_on_from(&mut self, found: State) {
        *self = Self {
            first: found,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pairs: &[(&str, &str)]) -> State {
        let owned = pairs.iter().map(|(name, value)| (*name, *value));
        owned
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    /// Two files that are saved together, twice: acknowledged once.
    fn told() -> Told {
        let mut told = Told::default();
        told.ask(state(&[("a", "1"), ("b", "1")]));
        told.answered("first");
        told.ask(state(&[("a", "2"), ("b", "2")]));
        told
    }

    #[test]
    fn what_is_lost_or_torn_is_found_and_what_is_neither_is_not() {
        let told = told();
        for (found, is_fine) in [
            (state(&[("a", "1"), ("b", "1")]), true),
            (state(&[("a", "2"), ("b", "2")]), true),
            // Lost.
            (state(&[]), false),
            (state(&[("a", "1")]), false),
            // Torn.
            (state(&[("a", "2"), ("b", "1")]), false),
            // Never asked for.
            (state(&[("a", "3"), ("b", "3")]), false),
            (state(&[("a", "1"), ("b", "1"), ("c", "1")]), false),
        ] {
            assert_eq!(told.check(&found, |_| true).is_ok(), is_fine, "{found:?}");
        }
        // Before the first answer was given.
        assert_eq!(told.check(&state(&[]), |_| false), Ok(()));
        assert!(
            told.check(&state(&[("a", "2"), ("b", "2")]), |_| false)
                .is_err()
        );
    }

    #[test]
    fn what_was_refused_may_not_be_there() {
        let mut told = told();
        told.refused(507, false);
        let after = state(&[("a", "2"), ("b", "2")]);
        assert!(told.check(&after, |_| true).is_err());
    }

    /// A process that goes on may write over what a killed one left, which a power cut before that shows.
    #[test]
    fn what_was_read_as_not_there_may_be_there_only_until_then() {
        let mut told = told();
        let (stands, missed) = (state(&[("a", "1"), ("b", "1")]), told.last().clone());
        told.was_read(&stands, "read");
        assert!(!told.is_waiting());
        assert_eq!(told.last(), &stands);
        let sent = state(&[("a", "3"), ("b", "1")]);
        told.ask(sent.clone());
        let may_be = |given: &[&str]| {
            let found = [&stands, &missed, &sent];
            found.map(|found| told.check(found, |id| given.contains(&id)).is_ok())
        };
        assert_eq!(may_be(&["first"]), [true, true, false]);
        assert_eq!(may_be(&["first", "read"]), [true, false, true]);
    }
}
