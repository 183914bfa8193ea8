//! A service whose memory is watched, and connections to it from many addresses.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpSocket;

use crate::client::Client;
use crate::daemon::{Daemon, file, serve};

/// What may ever have been resident of what is released, in KiB.
const RESIDENT_KIB_MAX: u64 = 256 << 10;
/// So much more of a debug build: its code is larger, and so is each request.
const MORE_OF_DEBUG_KIB: u64 = 32 << 10;
/// From each of them come fewer connections than one may have.
const ADDRESSES: usize = 16;

/// One test at a time: what others do makes threads wait, and those that wait take memory.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other test runs, for as long as what is given lives.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the service with more flags.
pub(crate) fn start(flags: &[&str]) -> Daemon {
    let folder = tempfile::tempdir().unwrap();
    let mut command = serve(&folder.path().join("data"));
    command.args(flags);
    Daemon::start_as(folder, command)
}

/// Starts it, and makes the project.
pub(crate) fn with_project(flags: &[&str]) -> (Daemon, Client) {
    let daemon = start(flags);
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    (daemon, admin)
}

/// Saves a file.
#[track_caller]
pub(crate) fn put(client: &mut Client, path: &str, content: &[u8]) {
    let answer = client.attempt("PUT", &file(path), "application/octet-stream", content);
    let answer = answer.unwrap();
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// Sends a head that announces a body of so many bytes.
pub(crate) fn announce(
    stream: &mut TcpStream,
    method: &str,
    target: &str,
    credential: &str,
    length: usize,
) {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: a\r\n{credential}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
}

/// The status of an answer, of which no more is read.
#[track_caller]
pub(crate) fn status(mut stream: TcpStream) -> u16 {
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    let line = std::str::from_utf8(&line).unwrap();
    line.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

/// The service still answers, and has taken no more memory than it may.
#[track_caller]
pub(crate) fn assert_within(daemon: &Daemon) {
    daemon.admin();
    let peak = daemon.peak_resident_kib();
    #[expect(clippy::print_stderr, reason = "cargo shows it where it is asked to")]
    {
        eprintln!("{peak} KiB were resident at most");
    }
    // Else it is the binary of these tests.
    let is_given = std::env::var_os("TESTED_BINARY").is_some();
    let is_debug = cfg!(debug_assertions) && !is_given;
    let more = if is_debug { MORE_OF_DEBUG_KIB } else { 0 };
    assert!(peak < RESIDENT_KIB_MAX + more, "{peak} KiB were resident");
}

/// How many threads the service has.
pub(crate) fn threads(daemon: &Daemon) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id()));
    tasks.unwrap().count()
}

/// Lets this process have so many connections at once.
pub(crate) fn open_files(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|most| most >= wanted),
        "{wanted} open files are needed, and ulimit -Hn allows {maximum:?}"
    );
    if current.is_some_and(|now| now < wanted) {
        let current = Some(wanted);
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    }
}

/// Connections to the service from addresses of this machine, one after another from each.
#[derive(Debug)]
pub(crate) struct Crowd {
    runtime: tokio::runtime::Runtime,
    to: SocketAddr,
}

impl Crowd {
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            runtime: runtime.enable_io().build().unwrap(),
            to: daemon.base().trim_start_matches("http://").parse().unwrap(),
        }
    }

    /// The connection with this number. What is not read of it stays with the service but for some KiB.
    pub(crate) fn connect(&self, number: usize) -> TcpStream {
        self.try_connect(number).unwrap()
    }

    fn try_connect(&self, number: usize) -> io::Result<TcpStream> {
        let last = u8::try_from(2 + number % ADDRESSES).unwrap();
        let from = SocketAddr::new(Ipv4Addr::new(127, 0, 1, last).into(), 0);
        self.runtime.block_on(connect(self.to, Some(from)))
    }
}

/// Connects a client for which the system takes no more than a few KiB that it does not read.
pub(crate) async fn connect(to: SocketAddr, from: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    if let Some(from) = from {
        socket.bind(from)?;
    }
    let stream = socket.connect(to).await?.into_std()?;
    stream.set_nonblocking(false)?;
    // Longer than any answer takes.
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(stream)
}
