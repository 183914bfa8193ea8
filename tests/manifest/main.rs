//! The tree against a sorted map: whatever the order and the history of changes, the same files have
//! the same manifest, and every way of reading it agrees with the map.

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod ahead;
#[cfg(test)]
mod check;
#[cfg(test)]
#[path = "../support/forwarded.rs"]
mod forwarded;
#[cfg(test)]
mod git;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod large;
#[cfg(test)]
mod model;
#[cfg(test)]
mod overlays;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod tree;
