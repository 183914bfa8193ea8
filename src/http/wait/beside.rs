//! Looking for what other processes write, for as long as somebody waits and nobody else may look.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep, timeout};

use crate::repo::{ExternalSigns, Project};

/// How often it is looked after a sign: as often as a reader would find it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// So long after a sign it is looked, for what is written becomes visible once the disk has it.
const LOOKS_FOR: Duration = Duration::from_secs(1);

/// How often it is looked without a sign, for a disk may take longer.
const QUIET_MAX: Duration = Duration::from_secs(1);

/// Looks as long as `goes_on`.
pub(super) async fn look(project: Project, goes_on: impl Fn() -> bool) {
    let mut moments = Moments::new(project.external_signs());
    loop {
        moments.next().await;
        if !goes_on() {
            return;
        }
        // Over a network it is waited for without a thread. What is left is a look at shared memory, on this
        // worker, as with every read: to give the worker's clients to another thread first costs ten times
        // that. Whoever reads meets the same error, and says so.
        let caught_up = match project.catch_up() {
            Some(caught_up) => caught_up.await,
            None => Ok(()),
        };
        if let Err(error) = caught_up.and_then(|()| project.look_beside()) {
            tracing::debug!(%error, "cannot see what other processes write");
        }
    }
}

/// When to look.
struct Moments {
    /// `None` where there are no signs to be had: then it is looked all the time.
    signs: Option<ExternalSigns>,
    /// Until when it is looked for what the last sign was of.
    looks_until: Instant,
}

impl Moments {
    fn new(signs: Option<ExternalSigns>) -> Self {
        Self {
            signs,
            // What was written before there were signs has had none.
            looks_until: Instant::now() + LOOKS_FOR,
        }
    }

    async fn next(&mut self) {
        let Some(signs) = &mut self.signs else {
            sleep(LOOK_EVERY).await;
            return;
        };
        let mut sign = None;
        if Instant::now() < self.looks_until {
            // Nobody is woken by a sign while those before it were not taken.
            sleep(LOOK_EVERY).await;
            while let Some(next) = signs.next().now_or_never() {
                sign = Some(next);
                if next.is_none() {
                    break;
                }
            }
        } else {
            sign = timeout(QUIET_MAX, signs.next()).await.ok();
        }
        match sign {
            Some(Some(())) => self.looks_until = Instant::now() + LOOKS_FOR,
            Some(None) => self.signs = None,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::sync::mpsc;

    use super::*;

    /// At how many milliseconds of the next 2.5 s it is looked.
    async fn looks(moments: &mut Moments) -> Vec<u128> {
        let began = Instant::now();
        let mut looks = Vec::new();
        while began.elapsed() < Duration::from_millis(2500) {
            moments.next().await;
            looks.push(began.elapsed().as_millis());
        }
        looks
    }

    fn often(from: u128) -> impl Iterator<Item = u128> {
        (from..).step_by(20)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_looked_often_after_a_sign_and_each_second_without_one() {
        let (sign, signs) = mpsc::channel(1);
        let signs = stream::unfold(signs, |mut signs| async move {
            signs.recv().await?;
            Some(((), signs))
        });
        let mut moments = Moments::new(Some(Box::pin(signs)));

        // What was written before has given no sign.
        let first: Vec<_> = often(20).take(50).chain([2000, 3000]).collect();
        assert_eq!(looks(&mut moments).await, first);

        sign.try_send(()).unwrap();
        let at_once: Vec<_> = often(0).take(51).chain([2000, 3000]).collect();
        assert_eq!(looks(&mut moments).await, at_once);

        // Without signs it is looked all the time.
        drop(sign);
        let all: Vec<_> = [0].into_iter().chain(often(20).take(125)).collect();
        assert_eq!(looks(&mut moments).await, all);
    }
}
