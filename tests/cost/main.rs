//! What things cost where no clock is needed: objects and bytes written, objects read, memory kept.
#![cfg(test)]

#[path = "../../benches/common/mod.rs"]
mod common;

mod caches;
#[path = "../support/forwarded.rs"]
#[allow(unused_macros, unused_imports, reason = "other tests use more of it")]
mod forwarded;
mod imports;
mod polls;
mod prunes;
mod reads;
mod saves;
mod service;
mod tokens;
mod tracked;
