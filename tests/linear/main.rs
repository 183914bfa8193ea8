//! Histories of many clients at once: whatever is answered, there is an order of the calls in which one
//! client alone would have been answered so.

#[cfg(test)]
mod check;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(feature = "fleet")]
#[cfg(test)]
#[path = "../support/postgres_cluster.rs"]
#[allow(dead_code, reason = "the tests of kills use the rest")]
mod cluster;
#[cfg(test)]
mod command;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
#[path = "../it/harness/expected.rs"]
#[allow(dead_code, reason = "the tests of both APIs use more of it")]
mod expected;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod hand;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod model;
#[cfg(test)]
mod requests;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod served;
#[cfg(feature = "fleet")]
#[cfg(test)]
#[path = "../support/postgres.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod server;
#[cfg(test)]
#[path = "../support/spin.rs"]
mod spin;
#[cfg(feature = "fleet")]
#[cfg(test)]
#[path = "../fleet/store.rs"]
#[allow(dead_code, reason = "the tests of kills use the rest")]
mod store;
#[cfg(test)]
mod wrong;
