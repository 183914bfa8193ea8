//! A client of HTTP/1.1 that sends what it is told, byte by byte.

use std::io::{self, BufRead, BufReader, Read, Write};
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
    #[track_caller]
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the daemon accepts");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Has an answer take as long before it counts as missing.
    pub(crate) fn be_patient_for(&self, patience: Duration) {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(patience)).unwrap();
    }

    /// Sends bytes as they are. A daemon that has already refused may have closed: what it answered
    /// is what counts, so a failed write is not an error here.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        drop(self.stream.get_mut().write_all(bytes));
    }

    /// The same connection, to send while an answer is awaited.
    pub(crate) fn another_end(&self) -> Self {
        let stream = self.stream.get_ref().try_clone().expect("it is open");
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Says that nothing more will come.
    pub(crate) fn finish_sending(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Reads the next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.read_answer(false).expect("an answer comes")
    }

    /// Reads the next answer to a HEAD request.
    #[track_caller]
    pub(crate) fn answer_to_head(&mut self) -> Answer {
        self.read_answer(true).expect("an answer comes")
    }

    /// True if the daemon closes without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// Takes the next bytes as they come, and leaves the rest where it is.
    #[track_caller]
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("bytes come");
        bytes
    }

    /// Takes everything up to the end of the connection.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).expect("it ends well");
        rest
    }

    /// True if the daemon breaks off, after whatever it has sent.
    pub(crate) fn is_broken_off(&mut self) -> bool {
        let end = self.stream.read_to_end(&mut Vec::new());
        end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
    }

    fn read_answer(&mut self, to_head: bool) -> io::Result<Answer> {
        let start = self.line()?;
        let status = start
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| start.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3))
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| malformed(&start))?;
        let mut answer = Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            to_head,
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
            answer
                .headers
                .push((name.to_owned(), value.trim().to_owned()));
        }
        if !to_head && status >= 200 && status != 204 && status != 304 {
            answer.body = self.body(&answer)?;
        }
        Ok(answer)
    }

    fn body(&mut self, head: &Answer) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if let Some(coding) = head.header("Transfer-Encoding") {
            assert_eq!(coding, "chunked");
            loop {
                let line = self.line()?;
                let size = usize::from_str_radix(&line, 16).map_err(|_| malformed(&line))?;
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk)?;
                assert_eq!(&chunk[size..], b"\r\n");
                body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        if let Some(length) = head.header("Content-Length") {
            body.resize(length.parse().map_err(|_| malformed(length))?, 0);
            self.stream.read_exact(&mut body)?;
        } else {
            self.stream.read_to_end(&mut body)?;
        }
        Ok(body)
    }

    /// The next line without its end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected {line:?}"))
}
