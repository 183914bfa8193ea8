//! An answer that goes on: it tells of each change, so that a page need not ask.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::subscriptions::{Subscription, Subscriptions};
use crate::base::limits::{EVENTS_PAUSE_MS, EVENTS_QUIET_S_MAX, EVENTS_S_MAX};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::reply::events::Events;
use crate::http::reply::json_text::{into_text, to_json};
use crate::http::request::context::RequestContext;
use crate::http::wire::connection_state::Held;

/// Comes first: when a client is to come again after the end, in milliseconds.
const RETRY: &str = "retry: 3000\n\n";
/// Says that nothing happened, so that nobody takes the connection for dead. A page hears events of a type that it
/// listens for, and no comments.
const QUIET: &str = "event: quiet\ndata:\n\n";
/// Proxies that know this do not keep events back until they have many.
const UNBUFFERED: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// What a stream tells of.
pub(in crate::http) trait Source: Send + 'static {
    /// The events since the last look, each with its empty line, or an empty text; and a place, taken
    /// before, among those who are told of the next change. What is long is told by several looks, in parts.
    ///
    /// # Errors
    /// Who asked may not be told any more, or what it is about is gone.
    fn look(&mut self) -> impl Future<Output = Result<(String, Subscription), Error>> + Send;

    /// True if another look would tell nothing. It is asked of each stream that was not told of a change for
    /// long, so it reads what memory holds and makes nothing.
    ///
    /// # Errors
    /// As those of a look.
    fn is_unchanged(&self) -> Result<bool, Error>;

    /// True if another look is due without a change: the last one has not told all that it found.
    fn is_due(&self) -> bool {
        false
    }
}

/// Answers with a stream. `first` is what the first look at the source gave: what is refused there is
/// refused with its status.
///
/// # Limits
/// A stream takes a place among the requests that wait. It ends after [`EVENTS_S_MAX`] seconds, when the
/// source may not be looked at any more, when the client stops sending, and when the service stops. It is looked at
/// when the client has taken what was told before, so a stream holds what one look tells.
///
/// # Errors
/// As [`RequestContext::wait`].
pub(in crate::http) fn respond(
    context: &RequestContext,
    source: impl Source,
    (first, subscription): (String, Subscription),
) -> Result<Reply, Error> {
    let place = context.wait()?;
    let teller = Teller {
        source,
        first: Some(format!("{RETRY}{first}")),
        subscription,
        held: context.connection.hold(),
        subscriptions: Arc::clone(&context.service.subscriptions),
        end: Instant::now() + Duration::from_secs(EVENTS_S_MAX),
        pause_end: Instant::now(),
        _place: place,
    };
    let (unbuffered, no) = UNBUFFERED;
    let reply = Reply::events(Events::new(teller.pieces()));
    Ok(reply.with(unbuffered, no))
}

/// What is told, as JSON on one line.
pub(in crate::http) fn json(value: &impl Serialize) -> String {
    into_text(to_json(value))
}

/// Who makes the pieces of a stream.
struct Teller<S, P> {
    source: S,
    /// What is told before anything happens.
    first: Option<String>,
    subscription: Subscription,
    held: Held,
    subscriptions: Arc<Subscriptions>,
    /// When the stream ends.
    end: Instant,
    /// Until when nothing is told.
    pause_end: Instant,
    _place: P,
}

impl<S: Source, P: Send> Teller<S, P> {
    fn pieces(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut teller| async move {
            let piece = teller.next().await?;
            Some((Bytes::from(piece), teller))
        })
    }

    /// The next piece, `None` at the end.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let quiet_end = self
            .subscriptions
            .end_of(Duration::from_secs(EVENTS_QUIET_S_MAX));
        loop {
            tokio::select! {
                () = self.held.left() => return None,
                () = sleep_until(self.pause_end.min(self.end)) => {}
            }
            let is_quiet = tokio::select! {
                () = self.held.left() => return None,
                () = ready(()), if self.source.is_due() => false,
                () = self.subscription.told() => false,
                () = sleep_until(quiet_end.min(self.end)) => true,
            };
            if Instant::now() >= self.end || self.subscriptions.are_closed() {
                return None;
            }
            if is_quiet && self.source.is_unchanged().ok()? {
                return Some(QUIET.to_owned());
            }
            // Why, the client learns when it comes again.
            let (events, subscription) = self.source.look().await.ok()?;
            self.subscription = subscription;
            if !self.source.is_due() {
                self.pause_end = Instant::now() + Duration::from_millis(EVENTS_PAUSE_MS);
            }
            if !events.is_empty() {
                return Some(events);
            }
            if is_quiet {
                return Some(QUIET.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::http::wire::connection_state::ConnectionState;

    const REFUSED: &str = "refused";

    /// Tells what it was given since the last look.
    struct News {
        subscriptions: Arc<Subscriptions>,
        news: Arc<Mutex<Vec<String>>>,
    }

    impl Source for News {
        async fn look(&mut self) -> Result<(String, Subscription), Error> {
            let subscription = self.subscriptions.subscription();
            let mut news = self.news.lock().unwrap();
            let news: String = news.drain(..).collect();
            if news == REFUSED {
                return Err(Error::no_credential());
            }
            Ok((news, subscription))
        }

        fn is_unchanged(&self) -> Result<bool, Error> {
            Ok(self.news.lock().unwrap().is_empty())
        }
    }

    /// Tells something in so many parts.
    struct Parts {
        subscriptions: Arc<Subscriptions>,
        left: Arc<AtomicU32>,
    }

    impl Source for Parts {
        async fn look(&mut self) -> Result<(String, Subscription), Error> {
            let subscription = self.subscriptions.subscription();
            let left = self.left.fetch_sub(1, Ordering::Relaxed);
            Ok((left.to_string(), subscription))
        }

        fn is_unchanged(&self) -> Result<bool, Error> {
            Ok(!self.is_due())
        }

        fn is_due(&self) -> bool {
            self.left.load(Ordering::Relaxed) > 0
        }
    }

    struct Stage {
        subscriptions: Arc<Subscriptions>,
        news: Arc<Mutex<Vec<String>>>,
        connection: Arc<ConnectionState>,
    }

    impl Stage {
        fn set() -> Self {
            Self {
                subscriptions: Arc::default(),
                news: Arc::default(),
                connection: Arc::default(),
            }
        }

        fn stream(&self) -> Events {
            self.stream_of(News {
                subscriptions: Arc::clone(&self.subscriptions),
                news: Arc::clone(&self.news),
            })
        }

        fn stream_of(&self, source: impl Source) -> Events {
            let teller = Teller {
                source,
                first: Some(RETRY.to_owned()),
                subscription: self.subscriptions.subscription(),
                held: self.connection.hold(),
                subscriptions: Arc::clone(&self.subscriptions),
                end: Instant::now() + Duration::from_secs(EVENTS_S_MAX),
                pause_end: Instant::now(),
                _place: (),
            };
            Events::new(teller.pieces())
        }

        async fn change(&self, news: &str) {
            self.news.lock().unwrap().push(news.to_owned());
            self.subscriptions.notify_subscriptions().await;
        }
    }

    async fn next(stream: &mut Events) -> Option<Bytes> {
        std::future::poll_fn(|cx| stream.poll_piece(cx)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_says_so_and_ends_in_time() {
        let stage = Stage::set();
        let began = Instant::now();
        let mut stream = stage.stream();
        assert_eq!(next(&mut stream).await.unwrap(), RETRY);
        let mut quiets = 0;
        while let Some(piece) = next(&mut stream).await {
            assert_eq!(piece, QUIET);
            quiets += 1;
            let quiet = Duration::from_secs(EVENTS_QUIET_S_MAX) * quiets;
            assert_eq!(began.elapsed().as_secs(), quiet.as_secs());
        }
        assert_eq!(began.elapsed().as_secs(), EVENTS_S_MAX);
        assert_eq!(u64::from(quiets), EVENTS_S_MAX / EVENTS_QUIET_S_MAX - 1);
        assert_eq!(next(&mut stream).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_tells_of_is_found_when_the_quiet_time_is_over() {
        let stage = Stage::set();
        let began = Instant::now();
        let mut stream = stage.stream();
        next(&mut stream).await.unwrap();
        stage.news.lock().unwrap().push("rights".to_owned());
        assert_eq!(next(&mut stream).await.unwrap(), "rights");
        assert_eq!(began.elapsed(), Duration::from_secs(EVENTS_QUIET_S_MAX));
        stage.news.lock().unwrap().push(REFUSED.to_owned());
        assert_eq!(next(&mut stream).await, None);
        assert_eq!(began.elapsed(), Duration::from_secs(EVENTS_QUIET_S_MAX) * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_in_quick_succession_is_told_together() {
        let stage = Stage::set();
        let mut stream = stage.stream();
        next(&mut stream).await.unwrap();
        stage.change("a").await;
        assert_eq!(next(&mut stream).await.unwrap(), "a");
        let since = Instant::now();
        stage.change("b").await;
        stage.change("c").await;
        assert_eq!(next(&mut stream).await.unwrap(), "bc");
        assert_eq!(since.elapsed(), Duration::from_millis(EVENTS_PAUSE_MS));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_is_told_at_once_when_the_client_takes_it() {
        let stage = Stage::set();
        let left = Arc::new(AtomicU32::new(3));
        let mut stream = stage.stream_of(Parts {
            subscriptions: Arc::clone(&stage.subscriptions),
            left: Arc::clone(&left),
        });
        next(&mut stream).await.unwrap();
        let since = Instant::now();
        for part in (1..=3).rev() {
            assert_eq!(left.load(Ordering::Relaxed), part);
            assert_eq!(next(&mut stream).await.unwrap(), part.to_string());
        }
        assert_eq!(since.elapsed(), Duration::ZERO);
        assert_eq!(next(&mut stream).await.unwrap(), QUIET);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_a_stop_and_a_client_that_leaves_end_it_at_once() {
        let began = Instant::now();
        let ends: [fn(&Stage); 3] = [
            |stage| stage.news.lock().unwrap().push(REFUSED.to_owned()),
            |stage| stage.subscriptions.close(),
            |stage| stage.connection.leave(),
        ];
        for end in ends {
            let stage = Stage::set();
            let mut stream = stage.stream();
            next(&mut stream).await.unwrap();
            end(&stage);
            stage.subscriptions.notify_subscriptions().await;
            assert_eq!(next(&mut stream).await, None);
            assert!(!stage.connection.is_held());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
