//! The daemon under load and under the knife: many writers on connections that stay open, kills at any
//! moment, and whole trees held against git and the tools of a shell.

#[cfg(test)]
mod backup;
#[cfg(test)]
mod backup_course;
#[cfg(test)]
mod client;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod damaged_records;
#[cfg(test)]
mod file_length;
#[cfg(test)]
mod first_start;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod kills;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
mod log;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod parity;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod readme;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod server_key;
#[cfg(test)]
mod settings;
#[cfg(test)]
#[path = "../support/spin.rs"]
mod spin;
#[cfg(test)]
mod stopping;
#[cfg(test)]
#[allow(dead_code, reason = "the tests of the commands use more of it")]
mod terminal;
#[cfg(test)]
mod undelete;
#[cfg(test)]
mod writers;
