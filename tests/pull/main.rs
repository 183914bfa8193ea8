//! `siteconf pull`, the real binary, against the real service over loopback, and against servers that
//! lie, break off, refuse, or are GitLab.

#[cfg(test)]
mod apart;
#[cfg(test)]
mod bad_servers;
#[cfg(test)]
#[path = "../service/client.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod client;
#[cfg(test)]
#[path = "../service/daemon.rs"]
#[allow(dead_code, reason = "the tests of the service use more of it")]
mod daemon;
#[cfg(test)]
mod execs;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod kills;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
mod mounted;
#[cfg(test)]
mod overlays;
#[cfg(test)]
mod own_files;
#[cfg(test)]
mod places;
#[cfg(test)]
mod pulls;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod room;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod running;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod users;
#[cfg(test)]
mod watches;
#[cfg(test)]
mod ways;
