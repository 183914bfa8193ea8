//! What the tests speak with: a daemon, its users, their projects, and the specification's digests
//! computed a second time.

mod answer;
#[cfg(feature = "fleet")]
#[path = "../../support/bucket.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
pub(crate) mod bucket;
mod connection;
mod daemon;
mod encode;
mod expected;
pub(crate) mod git;
mod place;
mod project;
#[cfg(feature = "fleet")]
#[path = "../../support/role_service.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
pub(crate) mod role_service;
#[cfg(feature = "fleet")]
#[path = "../../support/postgres.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
pub(crate) mod server;
#[path = "../../support/tested.rs"]
#[allow(dead_code, reason = "not all suites ask for its version")]
pub(crate) mod tested;
mod user;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;
#[cfg(feature = "fleet")]
pub(crate) use daemon::own_folder;
pub(crate) use daemon::{Daemon, cookie_of, password_of, soon};
pub(crate) use encode::segment;
pub(crate) use expected::{branch_digest, git_blob_id, masked, md5_hex, paths};
pub(crate) use place::Place;
pub(crate) use project::Project;
pub(crate) use user::{Request, User};

/// Where the Admin API is mounted.
pub(crate) const ADMIN: &str = "/site-builder/api";
/// Where the Read API is mounted.
pub(crate) const READ: &str = "/site-builder/api/erp-config";
/// Where the Read API is mounted once more, for GitLab clients.
pub(crate) const READ_V4: &str = "/site-builder/api/erp-config/api/v4";
