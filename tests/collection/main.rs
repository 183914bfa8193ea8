//! Collections: what nothing leads to goes, what is needed stays, whatever happens meanwhile.

#[cfg(test)]
mod races;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod sweeps;
