//! Collections: what nothing leads to goes, what is needed stays, whatever happens meanwhile.

#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
mod commands;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod dates;
#[cfg(test)]
mod forgetting;
#[cfg(test)]
#[path = "../support/forwarded.rs"]
mod forwarded;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod overtaken;
#[cfg(test)]
mod prunes;
#[cfg(test)]
mod races;
#[cfg(test)]
mod room;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod sweeps;
