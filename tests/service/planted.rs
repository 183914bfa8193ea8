//! Trees of files, the same at every run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

const FOLDERS: [&str; 9] = [
    "config",
    "config-old",
    "config.d",
    "Справочники",
    "a b",
    "100%",
    "x+y",
    "ü",
    ".hidden",
];
/// Some sort otherwise as lines than as paths: `a.yaml|` comes after `a.yaml.bak|`.
const NAMES: [&str; 9] = [
    "a.yaml",
    "a.yaml.bak",
    "a",
    "a-",
    "Контрагент",
    "q?x=1&y#z",
    "%2e%2e",
    "e\u{301}",
    "🗂",
];

/// Fills a folder with so many files: deep and flat, empty and large, some executable.
pub(crate) fn plant(folder: &Path, count: u64) {
    let mut numbers = Numbers(20_261_121);
    for number in 0..count {
        let mut path = folder.to_owned();
        for _ in 0..numbers.below(5) {
            let name = numbers.one_of(&FOLDERS);
            path.push(format!("{name}{}", numbers.below(3)));
        }
        fs::create_dir_all(&path).unwrap();
        // Names as they are until one is taken.
        let name = numbers.one_of(&NAMES);
        let plain = path.join(name);
        let path = if plain.exists() {
            path.join(format!("{name}-{number}"))
        } else {
            plain
        };
        let size = match numbers.below(1000) {
            0 => 300_000,
            1..20 => 65_530 + numbers.below(12),
            20..70 => 0,
            70..300 => numbers.below(8_000),
            _ => numbers.below(300),
        };
        let body: Vec<u8> = (0..size).map(|_| numbers.next().to_le_bytes()[0]).collect();
        fs::write(&path, body).unwrap();
        let mode = if numbers.below(7) == 0 { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}
