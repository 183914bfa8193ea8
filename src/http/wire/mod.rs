//! Connections: accepted or refused, after a handshake where they have one, watched, and given to hyper, which alone
//! parses requests and writes answers.

mod break_off;
pub(in crate::http) mod client_stream;
mod connection;
pub(in crate::http) mod connection_state;
mod early_reader;
mod failed_accepts;
mod handshake;
mod linger;
pub(in crate::http) mod listener;
mod request_lines;
mod socket_readiness;
mod write_patience;
