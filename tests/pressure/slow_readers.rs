//! Clients that take their answers slowly, on a service whose clock the tests own.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde_json::json;
use siteconf::access::{Accounts, Gate, NewToken, Role, SessionLifetimes, Visit, projects};
use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::file_path::FilePath;
use siteconf::base::limits::LONG_ANSWER_BYTES_S_MIN;
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::ServerKey;
use siteconf::http::{AccessLog, HttpSettings, Limits, Listener, Server};
use siteconf::repo::{Condition, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::daemon::{PROJECT, read};
use crate::limited::{alone, connect};

const PASSWORD: &str = "a long password, not guessed";
const FILES: usize = 16;
/// More than the sockets of both ends hold, so that no client has all of a piece that takes nothing of it.
const FILE_BYTES: usize = 256 << 10;
/// In this time a client of the least speed takes more than the service gives it at once.
const LONG_S: u64 = 600;
const HAS_ITS_PLACES: &str = "too many long requests at once; try again in 1 s";
const NO_PLACE: &str = "too many long requests at once; try again in a moment";

/// The service, with a project and two accounts that have tokens for it. Tokens have one place for what takes long,
/// and people one.
struct Served {
    runtime: Runtime,
    address: SocketAddr,
    clock: Arc<ManualClock>,
    /// Two tokens of the project's owner, and one of somebody else.
    tokens: [String; 3],
    _stop: oneshot::Sender<()>,
}

impl Served {
    fn start() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
        let projects = projects(Arc::new(MemoryStore::default()), clock.clone());
        let root: Role = "ROLE_SITEBUILDER_EDITOR__ROOT".parse().unwrap();
        let accounts = Accounts::new(&projects);
        let lifetimes = SessionLifetimes::default();
        let gate = Gate::new(projects.clone(), ServerKey::generate(), lifetimes);
        let [owner, other] = ["eve", "bob"].map(|name| {
            accounts
                .create(name, PASSWORD, std::slice::from_ref(&root))
                .unwrap();
            gate.login(name, PASSWORD, &Visit::default()).unwrap().1
        });
        let id = RepoId::parse(PROJECT).unwrap();
        let number = owner.account().number();
        let project = projects.create_project(&id, number, "eve").unwrap();
        let project = ProjectWriter::new(project, "eve");
        let main = BranchName::parse("main").unwrap();
        project.create_branch(&main, None).unwrap();
        for number in 0..FILES {
            let file = projects.new_file(vec![b'x'; FILE_BYTES].into()).unwrap();
            let path = FilePath::parse(&format!("{number}.bin")).unwrap();
            project.save(&main, &path, file, Condition::None).unwrap();
        }
        let tokens = [&owner, &owner, &other].map(|caller| {
            let token = NewToken {
                name: "erp".to_owned(),
                repos: vec![PROJECT.to_owned()],
                ..NewToken::default()
            };
            let (token, _) = gate.create_token(caller, token).unwrap();
            token.reveal().to_owned()
        });
        let settings = HttpSettings {
            access_log: AccessLog::Off,
            limits: Limits {
                long_at_once_max: 1,
                long_waiting_max: 1,
                ..Limits::default()
            },
            ..HttpSettings::default()
        };
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::new(gate, clock.clone(), settings);
        let (stop, stopped) = oneshot::channel();
        runtime.spawn(server.run(vec![Listener::Tcp(listener)], async {
            drop(stopped.await);
        }));
        Self {
            runtime,
            address,
            clock,
            tokens,
            _stop: stop,
        }
    }

    /// Has the archive sent to a client that takes the beginning of it and no more: it waits for the rest of what it
    /// was given, and keeps the place.
    fn slow(&self) -> BufReader<TcpStream> {
        let connected = self.runtime.block_on(connect(self.address, None));
        let mut stream = connected.unwrap();
        let head = format!(
            "GET {} HTTP/1.1\r\nHost: a\r\nPRIVATE-TOKEN: {}\r\nConnection: close\r\n\r\n",
            archive(),
            self.tokens[0]
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut lines = stream.by_ref().lines().map(Result::unwrap);
        assert_eq!(lines.next().unwrap(), "HTTP/1.1 200 OK");
        assert!(lines.any(|line| line.is_empty()), "the head ends");
        let length = lines.next().unwrap();
        let length = u64::from_str_radix(&length, 16).unwrap();
        let given = FILE_BYTES as u64..LONG_S * LONG_ANSWER_BYTES_S_MIN;
        assert!(given.contains(&length), "{length}");
        stream
    }

    fn client(&self, token: usize) -> Client {
        let credential = format!("PRIVATE-TOKEN: {}\r\n", self.tokens[token]);
        Client::new(self.address, &credential)
    }

    /// Whoever asks for the archive with this token is refused.
    #[track_caller]
    fn assert_refused(&self, token: usize, status: u16, message: &str) {
        let answer = self.client(token).get(&archive());
        let told = (answer.status, answer.json());
        assert_eq!(told, (status, json!({ "message": message })));
    }
}

fn archive() -> String {
    read("/archive.tar?ref=main")
}

/// How many bytes come yet, and how it ends.
fn rest(mut stream: BufReader<TcpStream>) -> (usize, io::Result<usize>) {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    (bytes.len(), end)
}

#[test]
fn who_finds_no_place_gets_that_of_a_client_that_takes_too_little() {
    let _alone = alone();
    // The account of the first has its part then, that of the second finds nothing left.
    for (other, status, message) in [(1, 429, HAS_ITS_PLACES), (2, 503, NO_PLACE)] {
        let served = Served::start();
        let slow = served.slow();
        served.assert_refused(other, status, message);
        served.clock.advance_s(LONG_S);
        // No token ends its own answers.
        served.assert_refused(0, 429, HAS_ITS_PLACES);
        let answer = served.client(other).get(&archive());
        assert_eq!(answer.status, 200);
        assert!(answer.body.len() > FILES * FILE_BYTES);
        let (taken, end) = rest(slow);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(taken < FILE_BYTES, "{taken}");
    }
}

#[test]
fn a_slow_client_gets_all_where_nobody_needs_its_place() {
    let _alone = alone();
    let served = Served::start();
    let slow = served.slow();
    served.clock.advance_s(LONG_S);
    // What takes no place needs none.
    assert_eq!(served.client(2).get(&read("/branches")).status, 200);
    let (taken, end) = rest(slow);
    assert!(
        end.is_ok() && taken > FILES * FILE_BYTES,
        "{taken}, {end:?}"
    );
    let answer = served.client(2).get(&archive());
    assert_eq!(answer.status, 200);
}
