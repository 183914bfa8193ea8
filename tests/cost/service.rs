//! A service in this process over a store of a test, asked over a socket.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use siteconf::access::{Accounts, Gate, NewToken, SessionLifetimes, Visit, projects};
use siteconf::base::clock::SystemClock;
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::{Secret, ServerKey};
use siteconf::http::{AccessLog, HttpSettings, Limits, Listener, Server};
use siteconf::repo::{Condition, ProjectWriter, Projects};
use siteconf::store::Store;
use siteconf::store::record_cache::RecordCache;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::oneshot;

use crate::common::branch;

const NAME: &str = "alice";
const PASSWORD: &str = "correct horse";
const PROJECT: &str = "acme/shop.erp";
/// The project's object.
pub(crate) const OF_PROJECT: &str = "/projects/acme%2Fshop.erp";
/// What lies in its branch `main`, in the order in which it was saved.
const FILES: [&str; 3] = ["conf/a.xml", "conf/b.xml", "c.xml"];

/// It ends when this is dropped.
pub(crate) struct Service {
    address: SocketAddr,
    /// That of a token for all projects of the account.
    token: Secret,
    projects: Projects,
    _stop: oneshot::Sender<()>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Value,
}

/// Projects with nothing in memory over what a store holds.
fn opened<S: Store + 'static>(store: &Arc<S>) -> Projects {
    let cache = Arc::new(RecordCache::over(Arc::clone(store))) as Arc<dyn Store>;
    projects(cache, Arc::new(SystemClock))
}

fn gate(projects: &Projects) -> Gate {
    let lifetimes = SessionLifetimes::default();
    Gate::new(projects.clone(), ServerKey::generate(), lifetimes)
}

/// Makes what is served: an account with a project, and a token. With the last handle ends the thread that computes
/// digests ahead, so that it reads nothing while others are counted.
fn fill<S: Store + 'static>(store: &Arc<S>) -> Secret {
    let projects = opened(store);
    let account = Accounts::new(&projects).create(NAME, PASSWORD, &[]);
    let number = account.unwrap().number();
    let id = RepoId::parse(PROJECT).unwrap();
    let project = projects.create_project(&id, number, NAME).unwrap();
    let writer = ProjectWriter::new(project, NAME);
    writer.create_branch(&branch("main"), None).unwrap();
    for path in FILES {
        save(&projects, &writer, path, "first");
    }
    let gate = gate(&projects);
    let (_, caller) = gate.login(NAME, PASSWORD, &Visit::default()).unwrap();
    let new = NewToken {
        name: "erp".to_owned(),
        repos: vec!["*".to_owned()],
        ..NewToken::default()
    };
    gate.create_token(&caller, new).unwrap().0
}

fn save(projects: &Projects, writer: &ProjectWriter, path: &str, text: &str) {
    let file = projects.new_file(text.to_owned().into()).unwrap();
    let path = FilePath::parse(path).unwrap();
    let saved = writer.save(&branch("main"), &path, file, Condition::None);
    saved.unwrap();
}

impl Service {
    /// Serves a store in which nothing is yet.
    pub(crate) fn over<S: Store + 'static>(store: &Arc<S>, limits: &Limits) -> Self {
        let token = fill(store);
        let projects = opened(store);
        let settings = HttpSettings {
            limits: *limits,
            access_log: AccessLog::Off,
            ..HttpSettings::default()
        };
        let server = Server::new(gate(&projects), Arc::new(SystemClock), settings);
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || {
            let dropped = async move { stopped.await.unwrap_or_default() };
            runtime.block_on(server.run(vec![Listener::Tcp(listener)], dropped));
        });
        Self {
            address,
            token,
            projects,
            _stop: stop,
        }
    }

    /// Asks the Read API.
    pub(crate) fn get(&self, target: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!(
            "GET /site-builder/api/erp-config{target} HTTP/1.1\r\nHost: {}\r\nPRIVATE-TOKEN: {}\r\n\
             Connection: close\r\n\r\n",
            self.address,
            self.token.reveal()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.strip_prefix("HTTP/1.1 ").unwrap();
        Answer {
            status: status[..3].parse().unwrap(),
            json: serde_json::from_str(body).unwrap(),
        }
    }

    /// Saves to the branch `main` of the project.
    pub(crate) fn save(&self, path: &str, text: &str) {
        let id = RepoId::parse(PROJECT).unwrap();
        let project = self.projects.project(&id).unwrap();
        let writer = ProjectWriter::new(project, NAME);
        save(&self.projects, &writer, path, text);
    }
}
