//! A way to the server that loses connections where a test wants it, and delays looks for changes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;

/// When a connection is lost that carries a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Never.
    Never,
    /// Each kind after the other, at every third commit.
    EveryThird,
    /// As soon as anything comes, on all connections.
    All,
}

/// What the statement of a look has, and no other.
const LOOK: &str = "siteconf.change WHERE version >=";

/// A proxy on a port of this machine. It ends with the process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: Mutex<PathBuf>,
    cut: AtomicU8,
    /// Commits that were passed on, or lost.
    commits: AtomicU32,
    lost: AtomicU32,
    open: Mutex<Vec<TcpStream>>,
    /// Connections that were begun before this one carry nothing any more.
    first_heard: AtomicU64,
    /// What the commit holds after whose answer no connection carries anything.
    last_words: Mutex<Option<Vec<u8>>>,
    /// What the connection holds that carries nothing from then on.
    unheard: Mutex<Option<Vec<u8>>>,
    begun: AtomicU64,
    /// How long each answer takes, in milliseconds.
    way_ms: AtomicU64,
    /// Longest delay of a look for changes, in milliseconds.
    delay_ms: AtomicU64,
    /// When looks for changes were passed on, as long as somebody wants to know.
    looks: Mutex<Option<Vec<Instant>>>,
}

impl Proxy {
    /// Passes on to this socket.
    pub(crate) fn new(server: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server: Mutex::new(server),
            cut: AtomicU8::new(Cut::Never as u8),
            commits: AtomicU32::new(0),
            lost: AtomicU32::new(0),
            open: Mutex::default(),
            first_heard: AtomicU64::new(0),
            last_words: Mutex::default(),
            unheard: Mutex::default(),
            begun: AtomicU64::new(0),
            way_ms: AtomicU64::new(0),
            delay_ms: AtomicU64::new(0),
            looks: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_thread);
                if shared.holds_open(&client) {
                    thread::spawn(move || shared.carry(client));
                }
            }
        });
        Self { port, shared }
    }

    /// Says which connections are lost from now on.
    pub(crate) fn cut(&self, cut: Cut) {
        let mut all_open = self.shared.open.lock().unwrap();
        self.shared.cut.store(cut as u8, Ordering::Release);
        if cut == Cut::All {
            for open in all_open.drain(..) {
                // It may be closed already.
                drop(open.shutdown(Shutdown::Both));
            }
        }
    }

    /// Passes on to this socket what comes over connections that are made from now on; those that there are stay.
    pub(crate) fn lead_to(&self, server: PathBuf) {
        *self.shared.server.lock().unwrap() = server;
    }

    /// Has the connections that there are carry nothing from now on, and stay: as of a server whose machine has lost
    /// its power, with another in its place.
    pub(crate) fn silence(&self) {
        let begun = self.shared.begun.load(Ordering::Acquire);
        self.shared.first_heard.store(begun, Ordering::Release);
    }

    /// Has all connections, those to come, too, carry nothing once the commit was answered that holds these bytes.
    pub(crate) fn silence_after(&self, words: &str) {
        let words = words.as_bytes().to_vec();
        *self.shared.last_words.lock().unwrap() = Some(words);
    }

    /// Has the connection carry nothing any more over which these bytes come next, and stay.
    pub(crate) fn silence_at(&self, words: &str) {
        *self.shared.unheard.lock().unwrap() = Some(words.as_bytes().to_vec());
    }

    /// Has the server be so far away, there and back, for connections that are made from now on.
    pub(crate) fn move_away(&self, way: Duration) {
        let way = u64::try_from(way.as_millis()).unwrap();
        self.shared.way_ms.store(way, Ordering::Release);
    }

    /// Has each look for changes take up to so long from now on, on its way there or back.
    pub(crate) fn delay_looks(&self, most: Duration) {
        let most = u64::try_from(most.as_millis()).unwrap();
        self.shared.delay_ms.store(most, Ordering::Release);
    }

    /// When looks for changes were passed on since this was last asked, or since it was first.
    pub(crate) fn looks(&self) -> Vec<Instant> {
        let looks = self.shared.looks.lock().unwrap().replace(Vec::new());
        looks.unwrap_or_default()
    }

    /// How many commits were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.shared.lost.load(Ordering::Acquire)
    }
}

impl Shared {
    /// Notes a connection, so that it is lost with all others. False if all are lost already.
    fn holds_open(&self, client: &TcpStream) -> bool {
        // Held while it is asked, or one would stay that came while all others were lost.
        let mut all_open = self.open.lock().unwrap();
        if self.cut.load(Ordering::Acquire) == Cut::All as u8 {
            return false;
        }
        all_open.push(client.try_clone().unwrap());
        true
    }

    /// How long a look takes there and back, in milliseconds. Every second one is not delayed.
    fn delays(&self) -> (u64, u64) {
        let most = self.delay_ms.load(Ordering::Acquire);
        let mut random = rand::rng();
        let all = if random.random() {
            random.random_range(0..=most)
        } else {
            0
        };
        if random.random() { (all, 0) } else { (0, all) }
    }

    /// True of what holds the bytes of [`Proxy::silence_after`].
    fn has_last_words(&self, sent: &[u8]) -> bool {
        let words = self.last_words.lock().unwrap();
        words.as_ref().is_some_and(|words| holds(sent, words))
    }

    /// True of what holds the bytes of [`Proxy::silence_at`], once.
    fn is_unheard(&self, sent: &[u8]) -> bool {
        let mut words = self.unheard.lock().unwrap();
        words.take_if(|words| holds(sent, words)).is_some()
    }

    fn is_silent(&self, number: u64) -> bool {
        number < self.first_heard.load(Ordering::Acquire)
    }

    fn carry(self: &Arc<Self>, mut client: TcpStream) {
        let number = self.begun.fetch_add(1, Ordering::AcqRel);
        let shared = Arc::clone(self);
        let mut server = UnixStream::connect(&*self.server.lock().unwrap()).unwrap();
        let (mut from_server, mut to_client) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        // Held while an answer is passed on, and for ever when one is to be lost.
        let answers = Arc::new(Mutex::new(true));
        let pass = Arc::clone(&answers);
        let answer_delay_ms = Arc::new(AtomicU64::new(0));
        let delay_ms = Arc::clone(&answer_delay_ms);
        let way_ms = self.way_ms.load(Ordering::Acquire);
        let is_last = Arc::new(AtomicBool::new(false));
        let was_last = Arc::clone(&is_last);
        let (answered, has_answered) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(length @ 1..) = from_server.read(&mut bytes) {
                let delay_ms = delay_ms.swap(0, Ordering::AcqRel);
                thread::sleep(Duration::from_millis(way_ms + delay_ms));
                if shared.is_silent(number) {
                    continue;
                }
                let is_passed = *pass.lock().unwrap();
                // Nobody may listen any more.
                answered.send(()).ok();
                // Before the client has it: it would ask on at once.
                if was_last.load(Ordering::Acquire) {
                    shared.first_heard.store(u64::MAX, Ordering::Release);
                }
                if !is_passed || to_client.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            drop(to_client.shutdown(Shutdown::Both));
        });
        let (mut writes, mut looks, mut is_silent) = (false, false, false);
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = client.read(&mut bytes) {
            let sent = &bytes[..length];
            is_silent |= self.is_silent(number) || self.is_unheard(sent);
            if is_silent {
                continue;
            }
            writes |= sent.windows(8).any(|text| text == b"commit_v");
            looks |= sent.windows(LOOK.len()).any(|text| text == LOOK.as_bytes());
            // Once its statement is known, a call begins with its parameters.
            let is_commit = writes && sent[0] == b'B';
            if looks && sent[0] == b'B' {
                let (there, back) = self.delays();
                thread::sleep(Duration::from_millis(there));
                answer_delay_ms.store(back, Ordering::Release);
                if let Some(looks) = &mut *self.looks.lock().unwrap() {
                    looks.push(Instant::now());
                }
            }
            if is_commit && self.has_last_words(sent) {
                is_last.store(true, Ordering::Release);
            }
            let number = if is_commit {
                self.commits.fetch_add(1, Ordering::AcqRel)
            } else {
                0
            };
            let is_lost = is_commit
                && number % 3 == 2
                && self.cut.load(Ordering::Acquire) == Cut::EveryThird as u8;
            if is_lost {
                self.lost.fetch_add(1, Ordering::AcqRel);
                match number / 3 % 3 {
                    // Before the server knows of it.
                    0 => {}
                    // While the server works on it.
                    1 => server.write_all(sent).unwrap(),
                    // After the server has answered.
                    _ => {
                        *answers.lock().unwrap() = false;
                        while has_answered.try_recv().is_ok() {}
                        server.write_all(sent).unwrap();
                        has_answered.recv().unwrap();
                    }
                }
                break;
            }
            if server.write_all(sent).is_err() {
                break;
            }
        }
        drop(client.shutdown(Shutdown::Both));
        drop(server.shutdown(Shutdown::Both));
    }
}

fn holds(sent: &[u8], words: &[u8]) -> bool {
    sent.windows(words.len()).any(|text| text == words)
}
