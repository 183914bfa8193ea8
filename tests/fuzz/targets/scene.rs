//! Both APIs in this process, over a store in memory with somebody's project in it. After an input that
//! changed the store the next one finds it as it was.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use siteconf::access::{Accounts, Gate, NewToken, Role, SessionLifetimes, Visit, projects};
use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::file_path::FilePath;
use siteconf::base::id::ObjectId;
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::ServerKey;
use siteconf::http::{AccessLog, HttpSettings, Limits, Listener, Server};
use siteconf::repo::{Condition, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Body, Expect, NewBody, NewObject, RecordWrite, Scan, Store, Version};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::answer::{Answer, answers};

/// How long an answer may take before it counts as one that never comes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The files of the project's branch `main`.
pub(crate) const FILES: [(&str, &[u8]); 5] = [
    ("config/prices.xml", b"<prices currency=\"EUR\"/>\n"),
    (
        "config/shop/till 7.json",
        b"{\"till\": 7, \"lanes\": [1, 2]}\n",
    ),
    ("bin/logo", b"\x00\x01\xffPNG\x00"),
    ("empty", b""),
    ("long.txt", &[b'x'; 5000]),
];

/// Records that reads and refusals write, too.
const NOTED: [&str; 4] = ["audit/", "clock", "commit/", "digest/"];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build();
    runtime.expect("a thread")
});
/// What each service begins with.
static BEGINNING: LazyLock<Beginning> = LazyLock::new(Beginning::make);
static SERVICES: AtomicU64 = AtomicU64::new(0);
thread_local! {
    /// Of each target its own: what one asks for may make a digest known, which answers to another then tell.
    static SERVICE: Cell<Option<Service>> = const { Cell::new(None) };
}

/// A store with a project, and who may use it.
struct Beginning {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    key: ServerKey,
    token: String,
    session: String,
}

/// A service that is asked.
struct Service {
    store: Arc<MemoryStore>,
    begun: Vec<(String, Version)>,
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

/// What came of one input.
pub(crate) struct Told {
    /// The answers, one for each request that was one.
    pub(crate) answers: Vec<Answer>,
    /// True if the store is not as it was, but for what the service notes by the way.
    pub(crate) changed: bool,
}

/// The value of `PRIVATE-TOKEN` that opens the project.
pub(crate) fn token() -> &'static str {
    &BEGINNING.token
}

/// The value of `Cookie` of its owner, who has the role ROOT.
pub(crate) fn cookie() -> &'static str {
    &BEGINNING.session
}

/// Sends what a client says, until it says no more, and reads all that it is told.
pub(crate) fn tell(said: &[u8]) -> Told {
    let service = SERVICE.take().unwrap_or_else(Service::start);
    let mut stream = UnixStream::connect_addr(&service.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
    // The service may end a connection before it has read all.
    drop(stream.write_all(said));
    drop(stream.shutdown(Shutdown::Write));
    let mut heard = Vec::new();
    if let Err(error) = stream.read_to_end(&mut heard) {
        assert!(
            !matches!(error.kind(), std::io::ErrorKind::WouldBlock),
            "no answer after {PATIENCE:?}"
        );
    }
    let changed = state(&service.store) != service.begun;
    if !changed {
        SERVICE.set(Some(service));
    }
    Told {
        answers: answers(&heard),
        changed,
    }
}

/// The one answer to one request with these header lines, each with its end.
pub(crate) fn ask(method: &str, target: &str, lines: &[u8], body: &[u8]) -> (Answer, bool) {
    let line = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
    let said = [line.as_bytes(), lines, b"\r\n", body].concat();
    let mut told = tell(&said);
    assert_eq!(told.answers.len(), 1, "one request, one answer");
    let answer = told.answers.remove(0);
    (answer, told.changed)
}

impl Beginning {
    fn make() -> Self {
        let clock = Timestamp::parse("2026-11-01T12:00:00Z").expect("a date");
        let clock = Arc::new(ManualClock::new(clock));
        let store = Arc::new(MemoryStore::default());
        let projects = projects(Arc::clone(&store) as Arc<_>, clock.clone());
        let key = ServerKey::generate();
        let password = "a long password, not guessed";
        let root: Role = "ROLE_SITEBUILDER_EDITOR__ROOT".parse().expect("a role");
        let accounts = Accounts::new(&projects);
        accounts.create("eve", password, &[root]).expect("a name");
        let gate = Gate::new(projects.clone(), key.clone(), SessionLifetimes::default());
        let (session, _) = gate
            .login("eve", password, &Visit::default())
            .expect("the password");
        let caller = gate.session(&session).expect("a session");
        let id = RepoId::parse("acme/shop.erp").expect("an id");
        let owner = caller.account().number();
        let project = projects.create_project(&id, owner, "eve").expect("room");
        let project = ProjectWriter::new(project, "eve");
        let main = BranchName::parse("main").expect("a name");
        project.create_branch(&main, None).expect("room");
        for (path, bytes) in FILES {
            let path = FilePath::parse(path).expect("a path");
            let file = projects.new_file(bytes.into()).expect("room");
            let saved = project.save(&main, &path, file, Condition::None);
            drop(saved.expect("room"));
        }
        let token = NewToken {
            name: "erp".to_owned(),
            repos: vec!["acme/shop.erp".to_owned()],
            ..NewToken::default()
        };
        let (token, _) = gate.create_token(&caller, token).expect("a token");
        // The first use is noted; no later one at the same time is.
        drop(gate.token(&token, None, None).expect("it counts"));
        Self {
            store,
            clock,
            key,
            token: token.reveal().to_owned(),
            session: format!("siteconf_session={}", session.reveal()),
        }
    }

    /// The store once more, to the version of each record.
    fn copy(&self) -> MemoryStore {
        let copy = MemoryStore::default();
        let ids = self.store.ids_with_prefix(&[], usize::MAX).expect("memory");
        let objects = ids.into_iter().map(|id| self.object(id)).collect();
        let mut records = self.store.scan(Scan::prefix("")).expect("memory");
        records.sort_by_key(|record| record.version);
        let mut version = commit(&copy, objects, Vec::new());
        for record in records {
            // Between two records lie those that are no more.
            while version + 1 < record.version {
                version = commit(&copy, Vec::new(), vec![written("gap", Bytes::new())]);
            }
            let record = written(&record.key, record.value.clone());
            version = commit(&copy, Vec::new(), vec![record]);
        }
        copy
    }

    fn object(&self, id: ObjectId) -> NewObject {
        let object = self.store.object(id).expect("memory").expect("it is there");
        let Body::Inline(bytes) = object.body else {
            panic!("memory has all bodies");
        };
        NewObject {
            id,
            kind: object.kind,
            size: object.size,
            sha256: object.sha256,
            body: NewBody::Inline(bytes),
        }
    }
}

/// The records with their versions, but those that reads and refusals may write.
fn state(store: &MemoryStore) -> Vec<(String, Version)> {
    let records = store.scan(Scan::prefix("")).expect("memory");
    let noted = |key: &str| NOTED.iter().any(|prefix| key.starts_with(prefix));
    let lasting = records.iter().filter(|record| !noted(&record.key));
    let state = lasting.map(|record| (record.key.clone(), record.version));
    state.collect()
}

fn commit(store: &MemoryStore, objects: Vec<NewObject>, writes: Vec<RecordWrite>) -> Version {
    let batch = Batch {
        objects,
        writes,
        ..Batch::default()
    };
    store.commit(batch).expect("memory")
}

fn written(key: &str, value: Bytes) -> RecordWrite {
    RecordWrite {
        key: key.to_owned(),
        expect: Expect::Anything,
        value: Some(value),
    }
}

impl Service {
    fn start() -> Self {
        let beginning = &*BEGINNING;
        let store = Arc::new(beginning.copy());
        let begun = state(&store);
        let projects = projects(Arc::clone(&store) as Arc<_>, beginning.clock.clone());
        let gate = Gate::new(projects, beginning.key.clone(), SessionLifetimes::default());
        let settings = HttpSettings {
            root_mount: true,
            access_log: AccessLog::Off,
            file_bytes_max: 64 << 10,
            archive_bytes_max: 64 << 10,
            limits: Limits {
                // An input is to be answered as it was the time before.
                logins_minute_account_max: 0,
                wrong_logins_minute_max: 0,
                wrong_logins_minute_address_max: 0,
                wrong_logins_minute_account_max: 0,
                wrong_tokens_minute_address_max: 0,
                ..Limits::default()
            },
            ..HttpSettings::default()
        };
        let number = SERVICES.fetch_add(1, Ordering::Relaxed);
        let name = format!("siteconf-fuzz-{}-{number}", process::id());
        let address = SocketAddr::from_abstract_name(name).expect("a short name");
        let listener = UnixListener::bind_addr(&address).expect("a name of its own");
        listener.set_nonblocking(true).expect("a socket");
        let (stop, stopped) = oneshot::channel();
        let _guard = RUNTIME.enter();
        let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
        let server = Server::new(gate, beginning.clock.clone(), settings);
        RUNTIME.spawn(server.run(vec![Listener::Unix(listener)], async {
            drop(stopped.await);
        }));
        Self {
            store,
            begun,
            address,
            _stop: stop,
        }
    }
}
