//! Folders of earlier formats: refused by what writes, read by what reads, and upgraded with all that is in
//! them, also after a kill, and from a backup.

#[cfg(test)]
mod backups;
#[cfg(test)]
mod binary;
#[cfg(test)]
mod commit;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod refused;
#[cfg(test)]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod seen;
#[cfg(test)]
mod upgraded;
