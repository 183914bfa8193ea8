//! Pins: rows that are renewed while they are held, and keep what was put since.
//!
//! What is put ahead of a commit leaves no change, by which a database is found to lack what it had. So the name of a
//! pin begins with the history in which things are put when it is taken, and the commit that names it is refused in any
//! other one. The rest of it is chance.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::COLLECTION_SETTINGS;
use crate::store::postgres::link::{CONNECTION_WAIT_MAX, Link};
use crate::store::postgres::server::{Server, Timeline};
use crate::store::remote::wait_on;
use crate::store::{Pin, PinName, Result};

const TAKE: &str = "SELECT siteconf.pin_v1($1, $2)";
const RENEW: &str = "SELECT siteconf.renew_pin_v1($1, $2)";
const RELEASE: &str = "SELECT siteconf.unpin_v1($1)";
/// How long a pin stands that nobody renews, in seconds: who cannot reach the database for so long has lost it. The
/// schema lets none stand for longer.
const STANDS_S: i32 = 600;
const RENEWED_EVERY: Duration = Duration::from_mins(1);
/// How long is waited until a pin is given back. One that is not stands a little longer.
const RELEASED_WITHIN: Duration = Duration::from_secs(2);

/// A pin that is held.
#[derive(Debug)]
pub(in crate::store::postgres) struct TablePin {
    name: PinName,
    link: Arc<Link>,
    runtime: Handle,
    renewal: JoinHandle<()>,
}

impl TablePin {
    /// Takes a pin for what is put in this history; where nothing was put yet, in that of the server that it finds.
    pub(in crate::store::postgres) fn take(
        runtime: &Handle,
        server: &Arc<Server>,
        puts_in: Option<Timeline>,
    ) -> Result<Self> {
        let link = Arc::new(Link::new(server, COLLECTION_SETTINGS));
        let taking = Arc::clone(&link);
        let name = wait_on(runtime, async move {
            let session = taking.session(Instant::now() + CONNECTION_WAIT_MAX).await?;
            let name = name_in(puts_in.unwrap_or(session.timeline));
            taking.read(TAKE, &[&name.as_slice(), &STANDS_S]).await?;
            Ok(name)
        })?;
        let renewal = runtime.spawn(renew(Arc::clone(&link), name));
        Ok(Self {
            name,
            link,
            runtime: runtime.clone(),
            renewal,
        })
    }
}

impl Pin for TablePin {
    fn name(&self) -> Option<PinName> {
        Some(self.name)
    }
}

impl Drop for TablePin {
    fn drop(&mut self) {
        self.renewal.abort();
        let (link, name) = (Arc::clone(&self.link), self.name);
        let (sender, released) = sync_channel(1);
        drop(self.runtime.spawn(async move {
            // It goes by itself when its time is over.
            drop(link.read(RELEASE, &[&name.as_slice()]).await);
            // Who waits may have gone on.
            let _told = sender.send(());
        }));
        let _released = released.recv_timeout(RELEASED_WITHIN);
    }
}

/// A new name for a pin of this history.
fn name_in(timeline: Timeline) -> PinName {
    let mut name: PinName = rand::random();
    name[..size_of::<u32>()].copy_from_slice(&timeline.0.to_be_bytes());
    name
}

/// True of the name of a pin that was taken in this history.
pub(in crate::store::postgres) fn is_of(name: &PinName, timeline: Timeline) -> bool {
    name.starts_with(&timeline.0.to_be_bytes())
}

async fn renew(link: Arc<Link>, name: PinName) {
    let first = Instant::now() + RENEWED_EVERY;
    let mut ticks = interval_at(first, RENEWED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match link.read(RENEW, &[&name.as_slice(), &STANDS_S]).await {
            Ok(rows) if rows.is_empty() => {
                tracing::warn!("what is being read in is no longer kept from collections");
                return;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a pin was not renewed"),
        }
    }
}
