//! The commands as people and scripts meet them: what they say, where, with which exit code, and how
//! they behave on a terminal.

#[cfg(test)]
mod after_change;
#[cfg(test)]
mod asking;
#[cfg(test)]
mod backups;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod every;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod keeping;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
mod messages;
#[cfg(test)]
#[path = "../pull/mounted.rs"]
#[allow(dead_code, reason = "the tests of the pull use more of it")]
mod mounted;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod stage;
#[cfg(test)]
#[path = "../service/terminal.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod terminal;
#[cfg(test)]
mod unwritten;
