//! The two APIs over HTTP/1.1, on raw hyper: the Read API shaped like GitLab's (`read`), the Admin API
//! (`admin`), the login (`login`), the document that describes them (`openapi`), and the page (`web`).
//!
//! # The way of a request
//! 1. `wire/listener` accepts, `wire/connection` gives the stream to hyper, which alone parses requests
//!    and writes answers; `wire/client_stream` gives up on a client that takes nothing.
//! 2. `pipeline::handle` is the request from top to bottom: `request/head_rules` (limits and what is
//!    ambiguous), `request/path` and `request/query`, `route` (a [`route::Target`] of method and path),
//!    the API's `respond`, `reply`, `log`.
//! 3. What is in memory is answered where it is asked, on the worker that read the request
//!    (`blocking::Threads::look`). What may wait, for the disk or for a commit, runs there too, once it has a
//!    place among those of its kind (`Threads::run`), and what computes or searches for long when it is its turn
//!    (`admission/long`, `LongPermit::run`): both say so with [`crate::base::may_block`], and another thread
//!    takes the worker's other clients. To the pool go logins, changes of passwords, bodies while they come
//!    and go (`blocking::run`, `blocking::start`).
//!
//! **A raw read**, `GET .../files/config%2Fa.xml/raw`: `read::respond` → `read/token` (the token in the
//! headers) → [`crate::access::Gate::known_token`] and `open_by_token` (records that memory keeps decoded) →
//! `read/file::raw_at_once`: the number of the state that the project's branches are in, and with it and the
//! target a look into `reply/cache`. What is there was made for whoever asked first; else the branch's
//! head, the nodes on the path, the blob → `reply/file` (type, tag, conditions, ranges).
//!
//! **A poll of branches**, `GET .../repository/branches`: the same up to the opened project →
//! `read/branches::found_list`: the same look by state and address. What is there has its tag, header lines
//! and gzip; else `list` makes it with `Listed::render` (`list/pagination`, `shape/branch`).
//!
//! **A wait**, `GET .../branches/main?wait=30`: `wait/hold` has it answered as without `wait` until the
//! answer is not 304; before each time it takes a place in `wait/subscriptions`, which is told of the next change.
//! A stream of events, `GET .../branches/main/events`, is a body that waits there between its pieces
//! (`wait/events`, `reply/events`).
//!
//! **A save**, `PUT .../branches/main/files/a.xml`: `admin::respond` → `request/cross_site` → `admin/receive`
//! (session, right, path and conditions, before a byte of the body is read) → `request/upload` (hashed
//! while it comes) → by `Threads::run` `admin/branch/files::save` → [`crate::repo::ProjectWriter::save`], which
//! makes it durable before it returns.
//!
//! # Where things are decided
//! The status and text of an error in `error`, its answer in `reply/of_error`; limits in
//! [`crate::base::limits`], those of one client in [`Limits`] and `admission`; the shape of GitLab's objects in
//! `shape`. A further route is one variant and one line in its table in `route`, one function among its API's
//! handlers, and an operation in the document.
//!
//! This layer does not know what is stored where: it reaches data only through what
//! [`crate::access::Gate`] opened, so no handler can forget the check. What hyper refuses before a
//! request exists (a malformed head) is answered by hyper with a bare status.
//!
#![doc = include_str!("contract.md")]

mod admin;
mod admission;
mod archive;
mod blocking;
mod error;
mod facts;
mod health;
mod list;
mod log;
mod login;
mod metrics;
mod openapi;
mod pipeline;
mod read;
mod reply;
mod request;
mod route;
mod service;
mod settings;
mod shape;
mod wait;
mod web;
mod wire;

pub use facts::{Facts, LastCollection, ObjectCount, StoreBytes, StoreFacts};
pub use metrics::exposition::{Labels, Metrics, as_flag, as_float};
pub use metrics::listener::MetricsServer;
pub use settings::{AccessLog, HttpSettings, Limits, Network, NetworkError};
pub use wire::listener::{Drain, Listener, Probe, Server};
