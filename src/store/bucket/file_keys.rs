//! The key in a file, which is read anew when it has changed. While it cannot be used, the one before is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use tokio::time::Instant;

use crate::base::threads::lock;
use crate::store::bucket_access::BucketKey;
use crate::store::small_file::{self, Mark, mark};

/// A file that could not be used is read again after so long, or when it has changed.
const FAILED_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// Gives the key that a file has now.
#[derive(Debug)]
pub(super) struct FileKeys {
    file: PathBuf,
    last: Mutex<Last>,
}

/// What was in the file last.
#[derive(Debug)]
struct Last {
    key: Arc<AwsCredential>,
    /// Of the file, before it was read; `None` at the start, so that it is read once more.
    mark: Mark,
    /// When it could not be used.
    failed: Option<Instant>,
}

impl FileKeys {
    /// Those of a file in which this key was found.
    pub(super) fn new(file: PathBuf, first: BucketKey) -> Self {
        Self {
            file,
            last: Mutex::new(Last {
                key: Arc::new(credential(first)),
                mark: None,
                failed: None,
            }),
        }
    }

    fn now(&self) -> Arc<AwsCredential> {
        let mut last = lock(&self.last);
        let mark = mark(&self.file);
        // What keeps it from being read may end without a change of its.
        let is_due = |failed: Instant| failed.elapsed() >= FAILED_AGAIN_AFTER;
        if mark != last.mark || last.failed.is_some_and(is_due) {
            last.mark = mark;
            match self.read() {
                Ok(key) => {
                    last.key = Arc::new(credential(key));
                    last.failed = None;
                }
                Err(fault) => {
                    last.failed = Some(Instant::now());
                    tracing::error!(
                        file = %self.file.display(),
                        fault,
                        "the keys of the bucket cannot be read anew; those of before are used"
                    );
                }
            }
        }
        Arc::clone(&last.key)
    }

    /// # Errors
    /// What is wrong with the file, without a word of what is in it.
    fn read(&self) -> Result<BucketKey, String> {
        let text = small_file::read_text(&self.file).map_err(|fault| fault.to_string())?;
        BucketKey::in_file(&text).map_err(str::to_owned)
    }
}

fn credential(key: BucketKey) -> AwsCredential {
    AwsCredential {
        key_id: key.id,
        secret_key: key.secret,
        token: key.token,
    }
}

impl CredentialProvider for FileKeys {
    type Credential = AwsCredential;

    fn get_credential<'life, 'future>(
        &'life self,
    ) -> BoxFuture<'future, object_store::Result<Arc<AwsCredential>>>
    where
        'life: 'future,
        Self: 'future,
    {
        future::ready(Ok(self.now())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_key_is_that_of_the_file_or_the_last_that_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        let write = |id: &str| {
            let text = format!("aws_access_key_id = {id}\naws_secret_access_key = s\n");
            fs::write(&file, text).unwrap();
        };
        let first = BucketKey {
            id: "first".to_owned(),
            secret: "s".to_owned(),
            token: None,
        };
        let keys = FileKeys::new(file.clone(), first);
        let given = || keys.now().key_id.clone();
        assert_eq!(given(), "first");
        write("second key");
        assert_eq!(given(), "second key");
        fs::remove_file(&file).unwrap();
        assert_eq!(given(), "second key");
        fs::write(&file, "aws_access_key_id = half").unwrap();
        assert_eq!(given(), "second key");
        write("third");
        assert_eq!(given(), "third");

        // What keeps it from being read may end without any mark of it.
        fs::remove_file(&file).unwrap();
        assert_eq!(given(), "third");
        let absent = lock(&keys.last).mark;
        write("the fourth");
        lock(&keys.last).mark = mark(&file);
        assert_eq!((absent, given().as_str()), (None, "third"));
        advance(FAILED_AGAIN_AFTER).await;
        assert_eq!(given(), "the fourth");
    }
}
