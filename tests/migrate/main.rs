//! Moving in from an old tree, through the binary: everything as it was, as often as wanted, and what
//! does not fit named.

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod meanwhile;
#[cfg(test)]
mod model;
#[cfg(test)]
mod moving;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod removed;
#[cfg(test)]
mod renamed;
#[cfg(test)]
mod repeated;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod verified;
