//! Faults, and what was promised all the same: kills, flipped bits, calls of the system that fail, and
//! power cuts. What clients were told before the fault is held against what there is after it.

#[cfg(test)]
mod calls;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod descriptors;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod flips;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod kills;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
mod load;
#[cfg(test)]
#[path = "../migrate/model.rs"]
#[allow(dead_code, reason = "the tests of moves use more of it")]
mod model;
#[cfg(test)]
mod power;
#[cfg(test)]
mod room;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
#[path = "../support/spin.rs"]
mod spin;
#[cfg(test)]
mod told;
#[cfg(test)]
mod tracer;
#[cfg(test)]
mod unreadable;
#[cfg(test)]
mod upkeep;
