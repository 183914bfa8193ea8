//! Room on the disk: what stays free of it, and what is kept for changes that free or protect.

pub(super) mod free;
pub(super) mod reserve;
