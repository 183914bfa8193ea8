//! Large directories: many levels of nodes, and histories that grow and shrink them.

use std::collections::BTreeSet;

use crate::agreement::{assert_agrees, assert_diff};
use crate::model::{Files, file};
use crate::tree::{Tree, parse};

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// One directory of so many files, with names of many lengths.
fn directory(numbers: &mut Numbers, count: usize) -> Files {
    let mut files = Files::new();
    while files.len() < count {
        let number = numbers.next();
        let length = 1 + numbers.below(40);
        let name: String = format!("{number:016x}").repeat(3)[..length].to_owned();
        files.insert(format!("large/{name}"), file(number >> 20));
    }
    files
}

/// Saves everything of a directory in so many saves, in an order of its own.
fn grown(numbers: &mut Numbers, files: &Files, saves: usize) -> Tree {
    let mut order: Vec<_> = files.iter().collect();
    numbers.shuffle(&mut order);
    let mut tree = Tree::new();
    for part in order.chunks(files.len().div_ceil(saves)) {
        tree.save(|editor, draft| {
            for (path, file) in part {
                editor.put_file(draft, &parse(path), **file).unwrap();
            }
        });
    }
    tree
}

#[test]
fn a_directory_of_a_hundred_thousand_grows_and_shrinks_without_a_trace() {
    let mut numbers = Numbers(1);
    let all = directory(&mut numbers, 100_000);
    let mut tree = grown(&mut numbers, &all, 7);
    assert_agrees(&tree, &all);

    // Down to a third, to a hundred, to one, each in one save, and up again.
    let mut files = all.clone();
    for left in [33_333, 100, 1] {
        let (old, old_files) = (tree.manifest, files.clone());
        let mut order: Vec<_> = files.keys().cloned().collect();
        numbers.shuffle(&mut order);
        order.truncate(files.len() - left);
        tree.save(|editor, draft| {
            for path in &order {
                assert!(editor.remove(draft, &parse(path)).unwrap());
                files.remove(path);
            }
        });
        assert_agrees(&tree, &files);
        assert_diff(&tree, &old, &old_files, &files);
    }
    tree.save(|editor, draft| {
        for (path, file) in &all {
            editor.put_file(draft, &parse(path), *file).unwrap();
        }
    });
    assert_eq!(tree.id, tree.built_at_once(&all));
}

#[test]
fn single_edits_of_a_large_directory_leave_no_trace_of_their_order() {
    for (seed, count) in [(2, 200), (3, 3_000), (4, 20_000)] {
        let mut numbers = Numbers(seed);
        let mut files = directory(&mut numbers, count);
        let mut tree = grown(&mut numbers, &files, 1);
        let mut paths: Vec<String> = files.keys().cloned().collect();
        for round in 0..10 {
            let (old, old_files) = (tree.manifest, files.clone());
            for _ in 0..50 {
                edit(&mut numbers, &mut tree, &mut files, &mut paths);
            }
            assert_eq!(
                tree.id,
                tree.built_at_once(&files),
                "{count} files, round {round}"
            );
            assert_diff(&tree, &old, &old_files, &files);
        }
        assert_agrees(&tree, &files);
    }
}

/// One save of one change: a file removed, changed or new, often beside the place of the last.
fn edit(numbers: &mut Numbers, tree: &mut Tree, files: &mut Files, paths: &mut Vec<String>) {
    let at = numbers.below(paths.len());
    let path = paths[at].clone();
    let number = numbers.next() >> 20;
    tree.save(|editor, draft| match number % 3 {
        0 => {
            assert!(editor.remove(draft, &parse(&path)).unwrap());
            files.remove(&path);
            paths.swap_remove(at);
        }
        1 => {
            editor.put_file(draft, &parse(&path), file(number)).unwrap();
            files.insert(path, file(number));
        }
        _ => {
            let new = format!("{path}{}", number % 10);
            editor.put_file(draft, &parse(&new), file(number)).unwrap();
            if files.insert(new.clone(), file(number)).is_none() {
                paths.push(new);
            }
        }
    });
}

#[test]
fn many_folders_and_long_names_split_within_the_bounds() {
    let mut files = Files::new();
    for number in 0..3_000_u64 {
        let name = format!("{number:05}");
        files.insert(format!("{name}/x"), file(number));
        files.insert(format!("long/{name}{}", "n".repeat(250)), file(number));
        files.insert(format!("{name}-beside"), file(number));
    }
    let mut tree = grown(&mut Numbers(5), &files, 3);
    assert_agrees(&tree, &files);

    let odd: BTreeSet<_> = (1..3_000)
        .step_by(2)
        .map(|number| format!("{number:05}"))
        .collect();
    tree.save(|editor, draft| {
        for folder in &odd {
            assert!(editor.remove(draft, &parse(folder)).unwrap());
            files.remove(&format!("{folder}/x"));
        }
    });
    assert_agrees(&tree, &files);
}

#[test]
fn a_change_of_content_writes_only_the_nodes_above_it() {
    let mut numbers = Numbers(6);
    let files = directory(&mut numbers, 20_000);
    let mut tree = grown(&mut numbers, &files, 1);
    let count = |tree: &Tree| {
        let store = tree.nodes.objects().store();
        store.ids_with_prefix(&[], usize::MAX).unwrap().len()
    };
    for path in files.keys().step_by(997) {
        let before = count(&tree);
        tree.save(|editor, draft| {
            editor.put_file(draft, &parse(path), file(7)).unwrap();
        });
        // The manifest, the root directory and at most four levels of the large one.
        let written = count(&tree) - before;
        assert!((3..=6).contains(&written), "{path}: {written} objects");
    }
}
