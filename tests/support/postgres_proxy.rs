//! A way to the server that loses connections where a test wants it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

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

/// A proxy on a port of this machine. It ends with the process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: PathBuf,
    cut: AtomicU8,
    /// Commits that were passed on, or lost.
    commits: AtomicU32,
    lost: AtomicU32,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Passes on to this socket.
    pub(crate) fn new(server: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server,
            cut: AtomicU8::new(Cut::Never as u8),
            commits: AtomicU32::new(0),
            lost: AtomicU32::new(0),
            open: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_thread);
                if shared.cut.load(Ordering::Acquire) == Cut::All as u8 {
                    continue;
                }
                shared
                    .open
                    .lock()
                    .unwrap()
                    .push(client.try_clone().unwrap());
                thread::spawn(move || shared.carry(client));
            }
        });
        Self { port, shared }
    }

    /// Says which connections are lost from now on.
    pub(crate) fn cut(&self, cut: Cut) {
        self.shared.cut.store(cut as u8, Ordering::Release);
        if cut == Cut::All {
            for open in self.shared.open.lock().unwrap().drain(..) {
                // It may be closed already.
                drop(open.shutdown(Shutdown::Both));
            }
        }
    }

    /// How many commits were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.shared.lost.load(Ordering::Acquire)
    }
}

impl Shared {
    fn carry(&self, mut client: TcpStream) {
        let mut server = UnixStream::connect(&self.server).unwrap();
        let (mut from_server, mut to_client) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        // Held while an answer is passed on, and for ever when one is to be lost.
        let answers = Arc::new(Mutex::new(true));
        let pass = Arc::clone(&answers);
        let (answered, has_answered) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(length @ 1..) = from_server.read(&mut bytes) {
                let is_passed = *pass.lock().unwrap();
                // Nobody may listen any more.
                answered.send(()).ok();
                if !is_passed || to_client.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            drop(to_client.shutdown(Shutdown::Both));
        });
        let mut writes = false;
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = client.read(&mut bytes) {
            let sent = &bytes[..length];
            writes |= sent.windows(9).any(|text| text == b"commit_v1");
            // Once its statement is known, a call begins with its parameters.
            let is_commit = writes && sent[0] == b'B';
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
