//! The clients: tasks of one thread, each with its connection.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::{process, project};

/// How a client finds out that there is something new.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Habit {
    /// It waits for it.
    Wait { seconds: u64 },
    /// It asks every so often.
    Poll { every: Duration },
    /// It listens to a stream of events.
    Listen,
}

impl Habit {
    /// After this time it begins anew; a stream says something every 50 s.
    pub(crate) fn round(self) -> Duration {
        match self {
            Self::Wait { seconds } => Duration::from_secs(seconds),
            Self::Poll { every } => every,
            Self::Listen => Duration::from_secs(50),
        }
    }
}

/// Many clients of one habit.
pub(crate) struct Crowd {
    address: SocketAddr,
    /// Header lines of the Read API, and of the Admin API.
    token: String,
    session: String,
    clients: usize,
    told: Arc<Told>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Told {
    /// How often anybody got a new state.
    news: AtomicUsize,
    /// How many have begun.
    begun: AtomicUsize,
    changed: Notify,
}

impl Crowd {
    pub(crate) fn new(address: SocketAddr, token: &str, session: &str, clients: usize) -> Self {
        Self {
            address,
            token: token.to_owned(),
            session: session.to_owned(),
            clients,
            told: Arc::default(),
            tasks: Mutex::default(),
        }
    }

    /// Has all begin, in place of what they did before, spread over this time; returns when each has.
    pub(crate) async fn begin(&self, habit: Habit, over: Duration) {
        *self.tasks.lock().unwrap() = JoinSet::new();
        // Those of before are gone from the daemon, too.
        sleep(Duration::from_secs(1)).await;
        self.told.begun.store(0, Ordering::SeqCst);
        self.told.news.store(0, Ordering::SeqCst);
        let clients = u32::try_from(self.clients).unwrap();
        for number in 0..clients {
            let credential = match habit {
                Habit::Listen => &self.session,
                Habit::Wait { .. } | Habit::Poll { .. } => &self.token,
            };
            let client = Client {
                address: self.address,
                credential: credential.clone(),
                told: Arc::clone(&self.told),
                tag: String::new(),
            };
            let task = async move {
                sleep(over * number / clients).await;
                client.live(habit).await;
            };
            self.tasks.lock().unwrap().spawn(task);
        }
        self.until(|told| told.begun.load(Ordering::SeqCst) >= self.clients)
            .await;
        // The last has asked, and is not yet held.
        sleep(Duration::from_secs(1)).await;
    }

    /// Returns when everybody has got so many new states.
    pub(crate) async fn all_told(&self, times: usize) {
        self.until(|told| told.news.load(Ordering::SeqCst) >= times * self.clients)
            .await;
    }

    async fn until(&self, is_so: impl Fn(&Told) -> bool) {
        while !is_so(&self.told) {
            self.told.changed.notified().await;
        }
    }
}

impl Told {
    fn note(&self, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_one();
    }
}

struct Client {
    address: SocketAddr,
    credential: String,
    told: Arc<Told>,
    /// Of the state that it has.
    tag: String,
}

impl Client {
    async fn live(mut self, habit: Habit) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let seconds = match habit {
            Habit::Listen => return self.listen(stream).await,
            Habit::Wait { seconds } => seconds,
            Habit::Poll { .. } => 0,
        };
        assert_eq!(self.ask(&mut stream, 0).await, 200, "the first answer");
        self.told.note(&self.told.begun);
        loop {
            if let Habit::Poll { every } = habit {
                sleep(every).await;
            }
            match self.ask(&mut stream, seconds).await {
                200 => self.told.note(&self.told.news),
                status => assert_eq!(status, 304),
            }
        }
    }

    /// Reads a stream of events, the first of which is the present state.
    async fn listen(self, mut stream: TcpStream) {
        self.send(&mut stream, &project::events(), "").await;
        let mut bytes = Vec::new();
        let mut is_first = true;
        loop {
            let read = stream.read_buf(&mut bytes).await.unwrap();
            assert!(read > 0, "the stream ended");
            while let Some(end) = bytes.windows(2).position(|two| two == b"\n\n") {
                let is_event = bytes[..end].windows(6).any(|six| six == b"data: ");
                bytes.drain(..end + 2);
                if is_event {
                    let count = if is_first {
                        &self.told.begun
                    } else {
                        &self.told.news
                    };
                    self.told.note(count);
                    is_first = false;
                }
            }
        }
    }

    /// Asks for the branch if it is not as it was. Gives the status.
    async fn ask(&mut self, stream: &mut TcpStream, wait: u64) -> u16 {
        let target = format!("{}?wait={wait}", process::read("/branches/main"));
        let known = format!("If-None-Match: {}\r\n", self.tag);
        self.send(stream, &target, &known).await;
        let mut bytes = Vec::new();
        let (mut head, mut length) = (None, 0);
        while head.is_none_or(|head: usize| bytes.len() < head + length) {
            let read = stream.read_buf(&mut bytes).await.unwrap();
            assert!(read > 0, "the connection ended");
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
            if let (None, Some(end)) = (head, end) {
                let text = std::str::from_utf8(&bytes[..end]).unwrap();
                let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
                length = value("Content-Length: ").map_or(0, |length| length.parse().unwrap());
                value("Etag: ").unwrap().clone_into(&mut self.tag);
                head = Some(end + 4);
            }
        }
        std::str::from_utf8(&bytes[9..12]).unwrap().parse().unwrap()
    }

    async fn send(&self, stream: &mut TcpStream, target: &str, lines: &str) {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\n{}{lines}\r\n",
            self.address, self.credential
        );
        stream.write_all(request.as_bytes()).await.unwrap();
    }
}
