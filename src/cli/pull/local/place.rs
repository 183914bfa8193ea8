//! Where the folder is: its own path, the one that was given for it, and who stands in it.

use std::env;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use crate::cli::output::visible_path;
use crate::cli::{Error, Result};

/// What the name of the folder beside the folder ends with.
pub(super) const SIDE: &str = ".siteconf-pull";

/// The folder's own path: absolute, and where it is a link what it leads to.
pub(super) fn found(dir: &Path) -> Result<PathBuf> {
    let real = real(dir)?;
    if fs::symlink_metadata(&real).is_ok_and(|found| !found.is_dir()) {
        return Err(Error::Usage(format!("{} is no folder", visible_path(dir))));
    }
    Ok(real)
}

/// Where a path leads; for what is absent the folder must be there in which it is to lie.
fn real(dir: &Path) -> Result<PathBuf> {
    let looking = || Error::file("looking at", dir);
    match fs::symlink_metadata(dir) {
        Ok(_) => dir.canonicalize().map_err(looking()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path::absolute(dir).map_err(looking())?;
            let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
                return Err(looking()(error));
            };
            let parent = parent
                .canonicalize()
                .map_err(Error::file("looking at", parent))?;
            Ok(parent.join(name))
        }
        Err(error) => Err(looking()(error)),
    }
}

/// The path that was given, if it goes over a link, which somebody may point elsewhere.
pub(super) fn given(dir: &Path, real: &Path) -> Option<PathBuf> {
    path::absolute(dir).ok().filter(|given| given != real)
}

/// True if that path leads to another folder by now. One that leads nowhere at the moment does not, and a link that is
/// gone may come again.
pub(super) fn leads_elsewhere(given: &Path, dir: &Path) -> bool {
    let is_there = fs::symlink_metadata(given).is_ok();
    (is_there || given.file_name() == dir.file_name()) && real(given).is_ok_and(|now| now != dir)
}

/// Where in the folder who runs this stands; `None` for who stands elsewhere.
pub(super) fn stands_in(dir: &Path) -> Option<PathBuf> {
    let current = env::current_dir().ok()?;
    current.strip_prefix(dir).ok().map(Path::to_owned)
}

/// The folder that was exchanged with this one, or with one that this lies in.
pub(super) fn replaced(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find_map(|above| {
        let name = above.file_name()?.to_str()?;
        let name = name.strip_prefix('.')?.strip_suffix(SIDE)?;
        Some(above.with_file_name(name))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_over_a_link_leads_elsewhere_once_the_link_does() {
        let stage = tempfile::tempdir().unwrap();
        let top = stage.path().canonicalize().unwrap();
        for folder in ["one/conf", "two/conf"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let link = top.join("link");
        // The folder itself, one that lies in it, and one that is to be made there.
        for inside in ["", "conf", "absent"] {
            symlink("one", &link).unwrap();
            // With nothing joined to it there would be a slash behind the link, which leads on.
            let path = if inside.is_empty() {
                link.clone()
            } else {
                link.join(inside)
            };
            let dir = found(&path).unwrap();
            assert_eq!(dir, top.join("one").join(inside));
            let given = given(&path, &dir).unwrap();
            assert_eq!(given, path);
            assert!(!leads_elsewhere(&given, &dir));
            fs::remove_file(&link).unwrap();
            assert!(!leads_elsewhere(&given, &dir));
            symlink("two", &link).unwrap();
            assert!(leads_elsewhere(&given, &dir));
            fs::remove_file(&link).unwrap();
            symlink("nowhere", &link).unwrap();
            assert!(!leads_elsewhere(&given, &dir));
            fs::remove_file(&link).unwrap();
        }
        let direct = top.join("one/./conf/");
        assert_eq!(given(&direct, &found(&direct).unwrap()), None);
    }
}
