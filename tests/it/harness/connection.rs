//! A client of HTTP/1.1 that sends what it is told, byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::Answer;

/// How long an answer may take before the test counts it as missing.
const PATIENCE: Duration = Duration::from_secs(25);

/// One connection, kept until dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the daemon accepts");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends bytes as they are. A daemon that has already refused may have closed: what it answered
    /// is what counts, so a failed write is not an error here.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        drop(self.stream.get_mut().write_all(bytes));
    }

    /// Says that nothing more will come.
    pub(crate) fn finish_sending(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Reads the next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.next_answer(false).expect("an answer comes")
    }

    /// Reads the next answer to a HEAD request.
    #[track_caller]
    pub(crate) fn answer_to_head(&mut self) -> Answer {
        self.next_answer(true).expect("an answer comes")
    }

    /// True if the daemon closes without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    /// Reads the next answer, or `None` if the connection ended before its first byte.
    fn next_answer(&mut self, to_head: bool) -> Option<Answer> {
        let start = self.line()?;
        let status = start
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|digits| digits.parse().ok())
            .expect("a status line of HTTP/1.1");
        let mut answer = Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            to_head,
        };
        loop {
            let line = self.line().expect("headers end with an empty line");
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').expect("a header has a colon");
            answer
                .headers
                .push((name.to_owned(), value.trim().to_owned()));
        }
        if !to_head && status >= 200 && status != 204 && status != 304 {
            answer.body = self.body(&answer);
        }
        Some(answer)
    }

    fn body(&mut self, head: &Answer) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(coding) = head.header("Transfer-Encoding") {
            assert_eq!(coding, "chunked");
            loop {
                let line = self.line().expect("a chunk begins with its size");
                let size = usize::from_str_radix(&line, 16).expect("a size in hexadecimal");
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk).expect("a whole chunk");
                assert_eq!(&chunk[size..], b"\r\n");
                body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    return body;
                }
            }
        }
        if let Some(length) = head.header("Content-Length") {
            body.resize(length.parse().expect("a length in bytes"), 0);
            self.stream.read_exact(&mut body).expect("a whole body");
        } else {
            self.stream.read_to_end(&mut body).expect("a whole body");
        }
        body
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                Some(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }
}
