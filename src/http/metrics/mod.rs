//! What is counted of requests, and the listener that shows all metrics.

pub(in crate::http) mod exposition;
pub(in crate::http) mod listener;
pub(in crate::http) mod requests;
pub(in crate::http) mod tallies;
