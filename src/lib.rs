//! siteconf keeps the configuration files that external ERP clients fetch: projects with branches, a
//! snapshot before every save, rollback in one call, and a read API shaped like GitLab's.
//!
//! # Layers
//! Each imports only from those above it in this list; `tests/tidy` holds the exact table.
//!
//! | layer | what it is |
//! |---|---|
//! | [`base`] | ids, digests, checked names, time, limits, secrets |
//! | [`object`] | objects and records as bytes, by `objects-layout.md` |
//! | [`store`] | where bytes live: SQLite and files, PostgreSQL and a bucket, or memory |
//! | [`manifest`] | a branch's tree: read, walk, edit, compare, digest |
//! | [`repo`] | projects, branches, saves, snapshots, rollback, history |
//! | [`access`] | accounts, sessions, tokens, roles, and the gate before a project |
//! | [`http`] | the two APIs, the page, metrics |
//! | [`cli`] | the command line |

pub mod access;
pub mod base;
pub mod cli;
pub mod http;
pub mod manifest;
pub mod object;
pub mod repo;
pub mod store;
