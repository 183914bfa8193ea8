//! A relay between pull and a service: it counts requests, breaks connections, and changes bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What it does to the bytes.
#[derive(Default)]
struct Tricks {
    /// The first lines of the requests that came by.
    requests: Mutex<Vec<String>>,
    /// After so many bytes of answers each connection breaks; 0 for never. The next one gets the next of
    /// the list, the last goes on for ever.
    breaks: Mutex<Vec<usize>>,
    /// Bytes in answers that become others of the same length.
    lies: Mutex<Vec<(Vec<u8>, Vec<u8>)>>,
    /// True once no connection is taken any more.
    ended: AtomicBool,
}

/// A relay that runs until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    tricks: Arc<Tricks>,
}

impl Relay {
    /// A relay to this address, `http://` before it.
    pub(crate) fn to(base: &str) -> Self {
        let target = Arc::new(Mutex::new(parsed(base)));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let tricks = Arc::<Tricks>::default();
        let (to, known) = (Arc::clone(&target), Arc::clone(&tricks));
        thread::spawn(move || {
            for client in listener.incoming() {
                if known.ended.load(Ordering::Relaxed) {
                    return;
                }
                let to = *to.lock().unwrap();
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else {
                    continue;
                };
                let (tricks, both) = (Arc::clone(&known), (client, server));
                thread::spawn(move || join(&both.0, &both.1, &tricks));
            }
        });
        Self {
            address,
            target,
            tricks,
        }
    }

    /// Where it listens.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Leads to another address from now on.
    pub(crate) fn lead_to(&self, base: &str) {
        *self.target.lock().unwrap() = parsed(base);
    }

    /// Breaks each of the next connections after so many bytes of answers, the further ones as the last.
    pub(crate) fn break_after(&self, bytes: &[usize]) {
        *self.tricks.breaks.lock().unwrap() = bytes.to_vec();
    }

    /// Puts other bytes of the same length in the place of these.
    pub(crate) fn lie(&self, from: &[u8], to: &[u8]) {
        assert_eq!(from.len(), to.len());
        let mut lies = self.tricks.lies.lock().unwrap();
        lies.push((from.to_vec(), to.to_vec()));
    }

    /// The requests that came by since the last time, their first lines.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.tricks.requests.lock().unwrap())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.tricks.ended.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
    }
}

fn parsed(base: &str) -> SocketAddr {
    base.strip_prefix("http://").unwrap().parse().unwrap()
}

fn join(client: &TcpStream, server: &TcpStream, tricks: &Arc<Tricks>) {
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let known = Arc::clone(tricks);
    let requests = thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut chunk) {
            let text = String::from_utf8_lossy(&chunk[..count]).into_owned();
            // A request of pull has no body, and comes in one piece.
            let first = text.lines().next().unwrap_or_default();
            known.requests.lock().unwrap().push(first.to_owned());
            if to.write_all(&chunk[..count]).is_err() {
                break;
            }
        }
        drop(to.shutdown(Shutdown::Both));
    });
    let mut left = {
        let mut breaks = tricks.breaks.lock().unwrap();
        match breaks.len() {
            0 => 0,
            1 => breaks[0],
            _ => breaks.remove(0),
        }
    };
    let breaks = left > 0;
    let (mut server, mut client) = (server, client);
    let mut chunk = vec![0; 64 << 10];
    while let Ok(count @ 1..) = server.read(&mut chunk) {
        let mut bytes = chunk[..count].to_vec();
        for (from, to) in tricks.lies.lock().unwrap().iter() {
            for at in 0..=bytes.len().saturating_sub(from.len()) {
                if bytes[at..].starts_with(from) {
                    bytes[at..at + to.len()].copy_from_slice(to);
                }
            }
        }
        if breaks {
            bytes.truncate(left);
            left -= bytes.len();
        }
        if client.write_all(&bytes).is_err() || breaks && left == 0 {
            break;
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
    requests.join().unwrap();
}
