//! A folder of small files, the same at every run.

use std::fs;
use std::path::Path;

use md5::Digest as _;
use sha2::Sha256;

const SEED: u64 = 20_261_121;
const FILES_A_FOLDER: u64 = 100;

/// What a branch of the folder must be.
pub(crate) struct Expected {
    /// Files and folders.
    pub(crate) entries: usize,
    /// The branch digest, by the definition.
    pub(crate) digest: String,
    /// A folder in the middle.
    pub(crate) folder: String,
    pub(crate) files_in_folder: usize,
}

/// Makes so many files of 100 to 500 bytes, in folders of a hundred, in folders of a hundred.
pub(crate) fn make(folder: &Path, files: u64) -> Expected {
    let mut lines = Sha256::new();
    for number in 0..files {
        let path = path(number);
        let place = folder.join(&path);
        if number % FILES_A_FOLDER == 0 {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
        }
        let body = body(number);
        // Numbers with leading zeros: the files come in the order of their paths.
        let md5 = hex::encode(md5::Md5::digest(&body));
        lines.update(format!("{path}|{}|{md5}\n", body.len()));
        fs::write(place, body).unwrap();
    }
    let folders = files.div_ceil(FILES_A_FOLDER);
    let all = files + folders + folders.div_ceil(FILES_A_FOLDER);
    let middle = files / 2;
    let in_folder = FILES_A_FOLDER.min(files - middle / FILES_A_FOLDER * FILES_A_FOLDER);
    Expected {
        entries: usize::try_from(all).unwrap(),
        digest: hex::encode(lines.finalize()),
        folder: path(middle).rsplit_once('/').unwrap().0.to_owned(),
        files_in_folder: usize::try_from(in_folder).unwrap(),
    }
}

fn path(number: u64) -> String {
    let folder = number / FILES_A_FOLDER;
    let region = folder / FILES_A_FOLDER;
    format!("region-{region:03}/shop-{folder:06}/file-{number:07}.xml")
}

/// Bytes that depend on the number alone.
fn body(number: u64) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&SEED.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    let mut output = hasher.finalize_xof();
    let mut length = [0; 2];
    output.fill(&mut length);
    let mut body = vec![0; 100 + usize::from(u16::from_le_bytes(length)) % 400];
    output.fill(&mut body);
    body
}
