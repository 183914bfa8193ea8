//! The rules that a project has for its contents, and holding files against them (contract section 6,
//! "Rules for contents").
//!
//! [`demand`] says what must hold of a change: the files that it adds or changes and a rule covers. What
//! bytes pass is true for ever, so a change brings along what was proven of its files ([`check`]), before
//! it waits for its branch; there it is only looked whether that is all. All checks of a change take so much
//! work together ([`effort`]). This layer's formats are [`json`], [`xml`], [`yaml`] and [`schema`].

pub(super) mod check;
mod copies;
mod cost;
pub(super) mod demand;
pub(super) mod effort;
mod json;
mod listing;
mod patterns;
mod reference;
pub(super) mod rules;
mod schema;
mod text;
mod unproven;
mod xml;
mod yaml;

pub use demand::Broken;
pub use listing::{BrokenPage, ShownBroken};
pub use rules::Rule;
pub use text::Place;
pub(super) use text::declared_text;
