//! A branch's tree as an algorithm: reading, walking, editing, comparing and digesting it.
//!
//! Every directory is a list of items in nodes that are split where the content says so, so that
//! equal content has equal nodes whatever its history. Who changes a tree, and why, is not known
//! here.

pub mod boundary;
pub mod check;
pub mod diff;
pub mod digest;
pub mod directory_builder;
pub mod draft;
pub mod edit;
pub mod git;
pub mod lookup;
pub mod nodes;
pub mod overlay;
pub mod page;
pub mod rewrite;
pub mod walk;

pub use directory_builder::DirectoryBuilder;
pub use draft::{Draft, DraftNodes};
pub use edit::{EditError, Editor};
pub use nodes::{NodeSource, Nodes};
