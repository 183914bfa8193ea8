//! Looks after the bucket as long as the store is open.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::HAS_PLACES;
use super::sweep::sweep_daily;
use crate::base::clock::SystemClock;
use crate::store::bucket::Bucket;
use crate::store::postgres::READER_SETTINGS;
use crate::store::postgres::link::Link;
use crate::store::postgres::server::Server;
use crate::store::remote::repeated::Repeated;
use crate::store::{LargeBodies, Result, StoreError};

/// How often it looks whether the bucket answers.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often it asks whether it is time to sweep.
const SWEEP_EVERY: Duration = Duration::from_hours(1);

/// Looks how the bucket is, and sweeps it. What carries requests to it carries this connection to the database, too.
#[derive(Debug)]
pub(super) struct Keeper {
    bucket: Weak<Bucket>,
    server: Arc<Server>,
    link: Link,
}

impl Keeper {
    pub(super) fn new(bucket: &Arc<Bucket>, server: &Arc<Server>) -> Arc<Self> {
        Arc::new(Self {
            bucket: Arc::downgrade(bucket),
            server: Arc::clone(server),
            link: Link::new(server, READER_SETTINGS),
        })
    }

    /// Looks now and then how the bucket is.
    pub(super) async fn keep_looking(self: Arc<Self>) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let told = Repeated::default();
        loop {
            ticks.tick().await;
            let Some(bucket) = self.bucket.upgrade() else {
                return;
            };
            match self.look(&bucket).await {
                Ok(()) => told.end(),
                // Each has told the log itself.
                Err(
                    StoreError::BucketAway
                    | StoreError::BucketFull
                    | StoreError::Unavailable
                    | StoreError::WentBack
                    | StoreError::LockInTheWay
                    | StoreError::Busy,
                ) => {}
                Err(error) if told.is_due(&error.to_string()) => {
                    if matches!(error, StoreError::UnfitBucket { .. }) {
                        tracing::error!(%error, "large files cannot be kept in the bucket");
                    } else {
                        tracing::error!(%error, "what lies in the bucket is not looked after");
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Sweeps the bucket once a day, beside the looks: a sweep may take long.
    pub(super) async fn keep_swept(self: Arc<Self>) {
        let mut tries_left = 0;
        loop {
            let Some(bucket) = self.bucket.upgrade() else {
                return;
            };
            // As the looks have found it.
            let pause = if bucket.state() == LargeBodies::Away {
                LOOK_EVERY
            } else {
                let swept = sweep_daily(&self.link, &bucket, &SystemClock, &mut tries_left).await;
                if let Err(error) = swept {
                    tracing::error!(%error, "the bucket was not swept; it is tried again, the next day at the latest");
                }
                SWEEP_EVERY
            };
            drop(bucket);
            sleep(pause).await;
        }
    }

    async fn look(&self, bucket: &Bucket) -> Result<()> {
        let rows = self.link.read(HAS_PLACES, &[]).await?;
        let has_places = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        bucket.check(self.server.store_id()?, has_places).await
    }
}
