//! The keys of a role: those of before are used while they are good and no others are given.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use tokio::time::{Instant, timeout};

use super::client::silence;
use crate::base::threads::lock;

/// How long keys are taken to be good, from when they were given last: `object_store` asks for others so long before
/// their end. Of a source whose keys end sooner when they are given, they are used too long; the bucket refuses them.
const GOOD_FOR: Duration = Duration::from_mins(5);
/// How long requests with good keys wait for others. A source that takes longer gives others only when these have
/// ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long good keys are used after others could not be had, before these are asked for again.
const PAUSE: Duration = Duration::from_secs(5);

/// Gives the keys that a source gives, and those of before while they are good and it does not.
#[derive(Debug)]
pub(super) struct RoleKeys {
    source: AwsCredentialProvider,
    last: Mutex<Option<Last>>,
}

/// The keys that were had last.
#[derive(Clone, Debug)]
struct Last {
    keys: Arc<AwsCredential>,
    had: Instant,
    /// When the source failed to give others.
    failed: Option<Instant>,
}

impl RoleKeys {
    pub(super) fn new(source: AwsCredentialProvider) -> Self {
        Self {
            source,
            last: Mutex::new(None),
        }
    }

    async fn keys(&self) -> object_store::Result<Arc<AwsCredential>> {
        let asked = Instant::now();
        let last = self.last().clone();
        let Some(good) = last.filter(|last| asked < last.had + GOOD_FOR) else {
            let keys = self.source.get_credential().await?;
            self.note(&keys, asked);
            return Ok(keys);
        };
        if good.failed.is_some_and(|failed| asked < failed + PAUSE) {
            return Ok(good.keys);
        }
        let given = timeout(PATIENCE, self.source.get_credential()).await;
        match given.unwrap_or_else(|_| Err(silence("it takes too long"))) {
            Ok(keys) => {
                self.note(&keys, asked);
                Ok(keys)
            }
            Err(error) => {
                self.note_failure(&good, &error);
                Ok(good.keys)
            }
        }
    }

    /// Notes that these were given to who asked then.
    fn note(&self, keys: &Arc<AwsCredential>, asked: Instant) {
        let new = Last {
            keys: Arc::clone(keys),
            had: asked,
            failed: None,
        };
        let before = self.last().replace(new);
        if before.is_some_and(|last| last.failed.is_some()) {
            tracing::info!("keys for the bucket of large files are given again");
        }
    }

    /// Notes that no others than these were given.
    fn note_failure(&self, good: &Last, error: &object_store::Error) {
        let mut last = self.last();
        // Others that were given meanwhile have not failed.
        let Some(last) = last.as_mut().filter(|last| last.had == good.had) else {
            return;
        };
        if last.failed.replace(Instant::now()).is_none() {
            tracing::warn!(
                %error,
                "new keys for the bucket of large files are not given; those of before are good for \
                 five minutes at most"
            );
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        lock(&self.last)
    }
}

impl CredentialProvider for RoleKeys {
    type Credential = AwsCredential;

    fn get_credential<'life, 'future>(
        &'life self,
    ) -> BoxFuture<'future, object_store::Result<Arc<AwsCredential>>>
    where
        'life: 'future,
        Self: 'future,
    {
        self.keys().boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use tokio::time::advance;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    /// Gives keys with a number, or not.
    #[derive(Debug, Default)]
    struct Source(Mutex<State>);

    #[derive(Debug, Default)]
    struct State {
        asked: usize,
        refuses: bool,
        is_silent: bool,
    }

    impl CredentialProvider for Source {
        type Credential = AwsCredential;

        fn get_credential<'life, 'future>(
            &'life self,
        ) -> BoxFuture<'future, object_store::Result<Arc<AwsCredential>>>
        where
            'life: 'future,
            Self: 'future,
        {
            let mut state = self.0.lock().unwrap();
            state.asked += 1;
            if state.is_silent {
                return future::pending().boxed();
            }
            let key_id = state.asked.to_string();
            let given = if state.refuses {
                Err(silence("no"))
            } else {
                Ok(Arc::new(AwsCredential {
                    key_id,
                    secret_key: String::new(),
                    token: None,
                }))
            };
            future::ready(given).boxed()
        }
    }

    impl Source {
        fn asked(&self) -> usize {
            self.0.lock().unwrap().asked
        }
    }

    /// Which keys are given now.
    async fn given(keys: &RoleKeys) -> Option<String> {
        let keys = keys.get_credential().await.ok()?;
        Some(keys.key_id.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_used_for_five_minutes_in_which_no_others_are_given() {
        let source = Arc::new(Source::default());
        let keys = RoleKeys::new(source.clone());
        source.0.lock().unwrap().refuses = true;
        assert_eq!(given(&keys).await, None);
        source.0.lock().unwrap().refuses = false;
        assert_eq!(given(&keys).await.unwrap(), "2");
        assert_eq!(given(&keys).await.unwrap(), "3");

        source.0.lock().unwrap().refuses = true;
        assert_eq!(given(&keys).await.unwrap(), "3");
        // The source is left alone for a while.
        advance(PAUSE.saturating_sub(MOMENT)).await;
        assert_eq!(
            (given(&keys).await.unwrap(), source.asked()),
            ("3".to_owned(), 4)
        );
        advance(MOMENT).await;
        assert_eq!(
            (given(&keys).await.unwrap(), source.asked()),
            ("3".to_owned(), 5)
        );
        advance(GOOD_FOR.saturating_sub(PAUSE + MOMENT)).await;
        assert_eq!(given(&keys).await.unwrap(), "3");
        advance(MOMENT).await;
        assert_eq!(given(&keys).await, None);

        source.0.lock().unwrap().refuses = false;
        assert_eq!(given(&keys).await.unwrap(), "8");
        assert_eq!(given(&keys).await.unwrap(), "9");
    }

    #[tokio::test(start_paused = true)]
    async fn good_keys_wait_a_moment_for_others() {
        let source = Arc::new(Source::default());
        let keys = RoleKeys::new(source.clone());
        assert_eq!(given(&keys).await.unwrap(), "1");
        source.0.lock().unwrap().is_silent = true;
        let asked = Instant::now();
        assert_eq!(given(&keys).await.unwrap(), "1");
        assert_eq!(asked.elapsed(), PATIENCE);
        // The next one not even that.
        assert_eq!(given(&keys).await.unwrap(), "1");
        assert_eq!(asked.elapsed(), PATIENCE);
    }
}
