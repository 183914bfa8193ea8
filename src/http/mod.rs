//! The two APIs over HTTP/1.1, on raw hyper: the Read API shaped like GitLab's
//! (`read`), the Admin API (`admin`), the login (`login`), and the document that describes them
//! (`openapi`).
//!
//! `handle` is a request from top to bottom. A route is an enum parsed from method and path; a
//! handler is a plain function that may block and gets what the gate opened. One place decides each
//! of: the status and text of an error (`error`), how a body is read (`body`), how a file is
//! sent (`raw`), where blocking work goes (`blocking`).
//!
//! A further route is one variant and one line in its API's `route.rs`, one function, and an operation in
//! the document.
//!
//! This layer does not know what is stored where: it reaches data only through what
//! [`crate::access::Gate`] opened, so no handler can forget the check. What hyper refuses before a
//! request exists (a malformed head) is answered by hyper with a bare status.
#![doc = include_str!("contract.md")]

mod admin;
mod archive;
mod blocking;
mod error;
mod list;
mod log;
mod login;
mod openapi;
mod pipeline;
mod read;
mod reply;
mod request;
mod route;
mod service;
mod settings;
mod shape;
mod wire;

pub use request::base_url::{Network, NetworkError};
pub use settings::HttpSettings;
pub use wire::listener::Server;
