//! The service as its users meet it: the real binary on a folder of its own, spoken to over a real
//! socket. One test a rule of the specification or the wire contract, asserting whole answers.
//!
//! Who speaks is always said: `daemon.anonymous()`, a session (`daemon.user("alice", &[])`), or the
//! holder of a token (`daemon.token(…)`).
#![cfg(test)]

mod harness;

mod access_log;
mod accounts;
mod audit;
mod audit_people;
mod batch;
mod batch_bodies;
mod body_memory;
mod branches;
mod canaries;
mod compressed_lists;
mod conditions;
mod cross_site;
mod crowds;
mod damaged_records;
mod deleted;
mod diff;
mod digest;
mod disk_free;
mod events;
mod file_names;
mod files;
mod fingerprint;
#[cfg(feature = "fleet")]
mod fleet;
#[path = "../support/free_address.rs"]
mod free_address;
mod gitlab_all_commits;
mod gitlab_archive;
mod gitlab_branches;
mod gitlab_coding;
mod gitlab_commits;
mod gitlab_compare;
mod gitlab_encodings;
mod gitlab_excluded;
mod gitlab_files;
mod gitlab_links;
mod gitlab_modes;
mod gitlab_pages;
mod gitlab_service;
mod gitlab_walk;
mod health;
mod held_writer;
mod history;
mod hostile;
mod import;
mod json_bodies;
mod kept_answers;
mod kept_commits;
mod kept_past;
#[path = "../support/left_out.rs"]
mod left_out;
mod limits;
mod login;
mod long_lists;
mod matrix;
mod messages;
mod metrics;
mod model;
mod names;
mod openapi;
mod own_account;
mod projects;
#[cfg(feature = "fleet")]
#[path = "../support/postgres_proxy.rs"]
#[allow(dead_code, reason = "the others use the rest")]
mod proxy;
mod ranges;
mod read_branches;
mod read_files;
mod read_tree;
mod renames;
mod revisions;
mod roles;
mod rollback;
#[path = "../support/rounds.rs"]
#[allow(dead_code, reason = "the others use the rest")]
mod rounds;
mod scene;
mod service_facts;
mod sessions;
mod throttle;
mod token_access;
mod token_lists;
mod tokens;
mod transport_bodies;
mod transport_heads;
mod tree;
mod validation;
mod validation_costs;
mod validation_schemas;
mod validation_ways;
mod waits;
mod waits_end;
