//! Many clients at once, most of whom mean no good: what they leave of the service for others, and how much
//! memory they have it take.

#[cfg(test)]
mod batches;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
mod crowds;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod held;
#[cfg(test)]
mod limited;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod slow_readers;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod told;
