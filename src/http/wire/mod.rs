//! Connections: accepted or refused, watched, and given to hyper, which alone parses requests and writes
//! answers.

mod client_stream;
mod connection;
mod linger;
pub(in crate::http) mod listener;
