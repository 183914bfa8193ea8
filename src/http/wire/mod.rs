//! Connections: accepted, watched, and given to hyper, which alone parses requests and writes
//! answers.

mod client_stream;
mod connection;
pub(in crate::http) mod listener;
