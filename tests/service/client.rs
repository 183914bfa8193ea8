//! A client that keeps its connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The daemon ends a connection on which nothing comes for 20 seconds. One that was not used for so long is opened
/// anew: a test may have run commands meanwhile, on a slow machine.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// An answer: its status, its headers by lower-case names, its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// A user on one connection, which is opened again only when the daemon closed it, or may be about to.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    /// A header line, or nothing.
    pub(crate) credential: String,
    /// With the time of the last answer.
    stream: Option<(BufReader<TcpStream>, Instant)>,
    /// How often a connection was opened.
    pub(crate) opened: usize,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, credential: &str) -> Self {
        Self {
            address,
            credential: credential.to_owned(),
            stream: None,
            opened: 0,
        }
    }

    /// The same user on a connection of its own.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.address, &self.credential)
    }

    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        self.attempt("GET", target, "", b"")
            .expect("the daemon answers")
    }

    #[track_caller]
    pub(crate) fn post(&mut self, target: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.attempt("POST", target, "application/json", body.as_bytes())
            .expect("the daemon answers")
    }

    /// Sends a request to a daemon that may be gone.
    ///
    /// # Errors
    /// When no whole answer came: what became of the request is unknown then.
    pub(crate) fn attempt(
        &mut self,
        method: &str,
        target: &str,
        kind: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let kept = self.stream.take();
        let mut stream = match kept.filter(|(_, answered)| answered.elapsed() < IDLE_MAX) {
            Some((stream, _)) => stream,
            None => self.connect()?,
        };
        let kind = if kind.is_empty() {
            String::new()
        } else {
            format!("Content-Type: {kind}\r\n")
        };
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\n{}{kind}Content-Length: {}\r\n\r\n",
            self.address,
            self.credential,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        let sent = stream.get_mut().write_all(&request);
        // A refusal is there, too, where the daemon has stopped waiting for the rest of the body.
        let answer = match (read_answer(&mut stream), sent) {
            (Ok(answer), Ok(())) => answer,
            (Ok(answer), Err(_)) if answer.status >= 400 => return Ok(answer),
            (_, Err(unsent)) => return Err(unsent),
            (Err(unanswered), Ok(())) => return Err(unanswered),
        };
        if answer.header("connection") != Some("close") {
            self.stream = Some((stream, Instant::now()));
        }
        Ok(answer)
    }

    fn connect(&mut self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        // Longer than any answer takes: a daemon that hangs fails the test.
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        self.opened += 1;
        Ok(BufReader::new(stream))
    }
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<Answer> {
    let status = line(stream)?;
    let status = status
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .ok_or_else(|| io::Error::other(format!("a status line was expected: {status}")))?;
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut answer = Answer {
        status,
        headers,
        body: Vec::new(),
    };
    if let Some(length) = answer.header("content-length") {
        let length = length.parse().map_err(io::Error::other)?;
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body)?;
    } else if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let length = usize::from_str_radix(&line(stream)?, 16).map_err(io::Error::other)?;
            let start = answer.body.len();
            answer.body.resize(start + length, 0);
            stream.read_exact(&mut answer.body[start..])?;
            line(stream)?;
            if length == 0 {
                break;
            }
        }
    }
    Ok(answer)
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.take(64 << 10).read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Encodes a text as one segment of a target.
pub(crate) fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
