//! A server that answers as a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;
use siteconf::base::digest::{GitHasher, StreamHasher as _};

/// An answer: its status line without the version, header lines, the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// True for none at all: the connection is closed.
    pub(crate) breaks_off: bool,
}

impl Answer {
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self {
            status: "200 OK",
            body: value.to_string().into_bytes(),
            ..Self::default()
        }
    }

    pub(crate) fn bytes(body: &[u8]) -> Self {
        Self {
            status: "200 OK",
            body: body.to_vec(),
            ..Self::default()
        }
    }

    /// A refusal in the form of the Read API.
    pub(crate) fn refusal(status: &'static str, message: &str) -> Self {
        Self {
            status,
            ..Self::json(&serde_json::json!({ "message": message }))
        }
    }

    pub(crate) fn with(mut self, header: &str) -> Self {
        self.headers.push(header.to_owned());
        self
    }
}

/// A request: its target, and its header lines in small letters.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) target: String,
    pub(crate) headers: Vec<String>,
}

type Reply = dyn Fn(&Asked) -> Answer + Send + Sync;

/// How many connections it has, and had.
#[derive(Debug, Default)]
struct Connections {
    open: AtomicUsize,
    all: AtomicUsize,
}

/// A server that runs until it is dropped.
pub(crate) struct Fake {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<Connections>,
    ended: Arc<AtomicBool>,
}

impl Fake {
    pub(crate) fn new(reply: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, ended) = (
            Arc::<Mutex<Vec<_>>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let connections = Arc::<Connections>::default();
        let reply: Arc<Reply> = Arc::new(reply);
        let (list, end) = (Arc::clone(&asked), Arc::clone(&ended));
        let counted = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let (reply, list) = (Arc::clone(&reply), Arc::clone(&list));
                let counted = Arc::clone(&counted);
                counted.open.fetch_add(1, Ordering::Relaxed);
                counted.all.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || {
                    drop(serve(&stream.unwrap(), &*reply, &list));
                    counted.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Self {
            address,
            asked,
            connections,
            ended,
        }
    }

    /// Its address.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections it has.
    pub(crate) fn open(&self) -> usize {
        self.connections.open.load(Ordering::Relaxed)
    }

    /// How many it had until now.
    pub(crate) fn connected(&self) -> usize {
        self.connections.all.load(Ordering::Relaxed)
    }

    /// What it was asked for since the last time.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(stream: &TcpStream, reply: &Reply, list: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(first) = lines.next().transpose()? {
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        for line in lines.by_ref() {
            let line = line?;
            if line.is_empty() {
                break;
            }
            headers.push(line.to_lowercase());
        }
        let asked = Asked { target, headers };
        list.lock().unwrap().push(asked.clone());
        let Answer {
            status,
            headers,
            body,
            breaks_off,
        } = reply(&asked);
        if breaks_off {
            return stream.shutdown(Shutdown::Both);
        }
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        for header in headers {
            head.push_str(&header);
            head.push_str("\r\n");
        }
        let mut stream = stream;
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        stream.write_all(&body)?;
    }
    Ok(())
}

/// The head, the tree and the file of a branch whose commit is 40 times this digit.
pub(crate) fn branch(asked: &Asked, digit: char) -> Answer {
    let commit = digit.to_string().repeat(40);
    let target = asked.target.as_str();
    if target.contains("/branches/") {
        let commit = json!({"id": commit, "short_id": commit[..8]});
        return Answer::json(&json!({"commit": commit})).with(&format!("ETag: \"{digit}\""));
    }
    if target.contains("/tree?") {
        let id = "ce013625030ba8dba906f756967f9e9ca394464a";
        return Answer::json(&json!([
            {"id": id, "name": "x", "type": "blob", "path": format!("of-{digit}"), "mode": "100644"}
        ]));
    }
    if target.contains("/raw?") {
        return Answer::bytes(b"hello\n");
    }
    Answer::refusal("404 Not Found", "404 Not Found")
}

/// The id that git gives these bytes.
pub(crate) fn git_id(bytes: &[u8]) -> String {
    let mut hasher = GitHasher::new(bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish().to_string()
}
