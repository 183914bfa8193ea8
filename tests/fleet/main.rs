//! Daemons over one PostgreSQL, and what was promised all the same: kills of the daemons and of the server,
//! connections that end, and a standby that takes the place of its primary.
#![cfg(feature = "fleet")]

#[cfg(test)]
#[path = "../support/bucket.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod bucket;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
#[path = "../support/postgres_cluster.rs"]
mod cluster;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod dump;
#[cfg(test)]
mod examples;
#[cfg(test)]
#[path = "../store/fixture.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod fixture;
#[cfg(test)]
#[path = "../support/free_address.rs"]
mod free_address;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod hot_branch;
#[cfg(test)]
mod kills;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
#[path = "../faults/load/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the harnesses of power cuts use the rest"
)]
mod load;
#[cfg(test)]
mod pooler;
#[cfg(test)]
#[path = "../support/postgres_proxy.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod proxy;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod seaweed;
#[cfg(test)]
#[path = "../support/postgres.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod server;
#[cfg(test)]
mod signs;
#[cfg(test)]
mod silent;
#[cfg(test)]
#[path = "../support/spin.rs"]
mod spin;
#[cfg(test)]
mod store;
#[cfg(test)]
mod tls;
#[cfg(test)]
#[path = "../faults/told.rs"]
#[allow(dead_code, reason = "the harnesses of power cuts use the rest")]
mod told;
#[cfg(test)]
mod unfit;
#[cfg(test)]
mod without_bucket;
