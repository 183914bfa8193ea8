//! Who waits for what, and who is told when it changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::beside;
use crate::base::branch_name::BranchName;
use crate::base::limits::WOKEN_AT_ONCE;
use crate::base::threads::lock;
use crate::http::error::Error;
use crate::repo::{Changed, Project, Watch};

/// How often waits end whose time is over.
const ENDS_EVERY: Duration = Duration::from_millis(250);

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    /// The project's number.
    project: u64,
    /// A branch; `None` for all of the project.
    branch: Option<BranchName>,
}

#[cfg(test)]
impl Subject {
    const OF_TESTS: Self = Self {
        project: 0,
        branch: None,
    };
}

/// The subscriptions, by subject. Those to other subjects cost a change nothing.
#[derive(Debug)]
pub(in crate::http) struct Subscriptions {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    subscriptions: HashMap<Arc<Subject>, Subscribers>,
    /// The number of who came last.
    last: u64,
    /// True once nobody may wait any more.
    stopped: bool,
    /// True while it is looked for writes of other processes.
    looking: bool,
}

/// Who waits for the same. They are gone once they were told; who waits on subscribes again.
#[derive(Debug)]
struct Subscribers {
    /// True once there was a change. It can be before others find them.
    changed: Arc<AtomicBool>,
    /// By when they came.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
    _watches: Vec<Watch>,
}

/// A wait for a subject. Dropping it ends it.
#[derive(Debug)]
pub(in crate::http) struct Subscription {
    subscriptions: Arc<Subscriptions>,
    subject: Arc<Subject>,
    number: u64,
    told: oneshot::Receiver<()>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            state: Mutex::default(),
        }
    }
}

impl Subscriptions {
    /// When a wait of this length ends: up to [`ENDS_EVERY`] before its time is over, together with others.
    /// A thread that wakes for one client alone costs several times what its answer does.
    pub(in crate::http) fn end_of(&self, wait: Duration) -> Instant {
        let end = (self.began.elapsed() + wait).as_nanos();
        let beyond = end % ENDS_EVERY.as_nanos();
        let beyond = Duration::from_nanos(u64::try_from(beyond).unwrap_or(0));
        Instant::now() + wait.saturating_sub(beyond)
    }

    /// Subscribes to changes of the branch, or of any. What is read after this is not changed without a word.
    pub(in crate::http) fn join(
        self: &Arc<Self>,
        project: &Project,
        branch: Option<&BranchName>,
    ) -> Result<Subscription, Error> {
        let subject = Arc::new(Subject {
            project: project.number(),
            branch: branch.cloned(),
        });
        if let Some(subscription) = self.enter(&subject, None) {
            return Ok(subscription);
        }
        let subscribers = self.open(&subject, project)?;
        let subscription = self.enter(&subject, Some(subscribers));
        self.look_beside(project);
        Ok(subscription.expect("there are subscribers"))
    }

    /// True once nobody is held any more.
    pub(in crate::http) fn are_closed(&self) -> bool {
        self.state().stopped
    }

    /// Tells all who wait that it is over, now and from now on.
    pub(in crate::http) fn close(&self) {
        let mut state = self.state();
        state.stopped = true;
        let subscriptions = std::mem::take(&mut state.subscriptions);
        drop(state);
        drop(subscriptions);
    }

    /// Subscribes to a subject that somebody is subscribed to, or with these new subscribers. `None` without any.
    fn enter(
        self: &Arc<Self>,
        subject: &Arc<Subject>,
        new: Option<Subscribers>,
    ) -> Option<Subscription> {
        let (tell, told) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        if !state.stopped {
            if let Some(new) = new {
                state
                    .subscriptions
                    .entry(Arc::clone(subject))
                    .or_insert(new);
            }
            let subscribers = state.subscriptions.get_mut(subject)?;
            subscribers.waiting.insert(number, tell);
            if subscribers.changed.load(Ordering::Acquire) {
                // Who was to tell them may have come when they were not there yet.
                let (subscriptions, subject) = (Arc::clone(self), Arc::clone(subject));
                tokio::spawn(async move { subscriptions.tell(&subject).await });
            }
        }
        drop(state);
        Some(Subscription {
            subscriptions: Arc::clone(self),
            subject: Arc::clone(subject),
            number,
            told,
        })
    }

    /// Nobody yet, who is told of changes.
    fn open(
        self: &Arc<Self>,
        subject: &Arc<Subject>,
        project: &Project,
    ) -> Result<Subscribers, Error> {
        let changed = Arc::new(AtomicBool::new(false));
        let tell: Changed = {
            let (subscriptions, runtime) = (Arc::downgrade(self), Handle::current());
            let (subject, changed) = (Arc::clone(subject), Arc::clone(&changed));
            Arc::new(move || {
                if !changed.swap(true, Ordering::AcqRel)
                    && let Some(subscriptions) = subscriptions.upgrade()
                {
                    let subject = Arc::clone(&subject);
                    // Whoever made the change does not wait until all are told.
                    runtime.spawn(async move { subscriptions.tell(&subject).await });
                }
            })
        };
        let watches = match &subject.branch {
            Some(branch) => project.watch_branch(branch, &tell)?.into(),
            None => vec![project.watch_branches(&tell)],
        };
        Ok(Subscribers {
            changed,
            waiting: BTreeMap::new(),
            _watches: watches,
        })
    }

    /// Tells all subscribers, some at a time: other requests come between.
    async fn tell(&self, subject: &Subject) {
        let subscribers = self.state().subscriptions.remove(subject);
        let Some(Subscribers { waiting, .. }) = subscribers else {
            return;
        };
        for (place, tell) in waiting.into_values().enumerate() {
            if place % WOKEN_AT_ONCE == WOKEN_AT_ONCE - 1 {
                yield_now().await;
            }
            let _has_left = tell.send(());
        }
    }

    /// Looks for writes of other processes for as long as somebody waits.
    fn look_beside(self: &Arc<Self>, project: &Project) {
        if std::mem::replace(&mut self.state().looking, true) {
            return;
        }
        let subscriptions = Arc::downgrade(self);
        let somebody_waits = move || {
            subscriptions.upgrade().is_some_and(|subscriptions| {
                let mut state = subscriptions.state();
                state.looking = !state.subscriptions.is_empty();
                state.looking
            })
        };
        tokio::spawn(beside::look(project.clone(), somebody_waits));
    }

    /// A subscription that [`Subscriptions::notify_subscriptions`] tells.
    #[cfg(test)]
    pub(in crate::http) fn subscription(self: &Arc<Self>) -> Subscription {
        let subscribers = Subscribers {
            changed: Arc::default(),
            waiting: BTreeMap::new(),
            _watches: Vec::new(),
        };
        self.enter(&Arc::new(Subject::OF_TESTS), Some(subscribers))
            .unwrap()
    }

    #[cfg(test)]
    pub(in crate::http) async fn notify_subscriptions(&self) {
        self.tell(&Subject::OF_TESTS).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Subscription {
    /// Ends when what is waited for may have changed, or nobody is held any more.
    pub(in crate::http) async fn told(&mut self) {
        let _closed = (&mut self.told).await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.subscriptions.state();
        let mut emptied = None;
        if let Some(subscribers) = state.subscriptions.get_mut(&self.subject)
            && subscribers.waiting.remove(&self.number).is_some()
            && subscribers.waiting.is_empty()
        {
            emptied = state.subscriptions.remove(&self.subject);
        }
        drop(state);
        drop(emptied);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_that_began_one_after_another_end_together_and_none_late() {
        let subscriptions = Subscriptions::default();
        let began = Instant::now();
        let wait = Duration::from_secs(1);
        for (ms, end_ms) in [(0, 1000), (1, 1000), (249, 1000), (250, 1250), (499, 1250)] {
            advance(Duration::from_millis(ms).saturating_sub(began.elapsed())).await;
            let end = subscriptions.end_of(wait);
            assert_eq!(end - began, Duration::from_millis(end_ms), "{ms}");
        }
    }
}
