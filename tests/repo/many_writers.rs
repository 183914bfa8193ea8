use crate::fixture::{Scene, branch};
use crate::on_every_engine;

on_every_engine!(
    writers_of_one_branch_lose_nothing,
    every_state_between_is_a_snapshot,
);

fn writers_of_one_branch_lose_nothing(scene: &Scene) {
    const WRITERS: u64 = 16;
    const SAVES: u64 = 25;
    let versions: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || -> Vec<u64> {
                    let save = |turn| {
                        scene
                            .save(&format!("w{writer}/f{turn}"), "x")
                            .snapshot
                            .number()
                    };
                    (0..SAVES).map(save).collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let mut sorted = versions;
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=WRITERS * SAVES).collect::<Vec<_>>());
    assert_eq!(scene.head().totals().files, WRITERS * SAVES);
}

fn every_state_between_is_a_snapshot(scene: &Scene) {
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                (0..10).for_each(|turn| drop(scene.save(&format!("w{writer}-{turn}"), "x")));
            });
        }
    });
    let main = scene.project.branch(&branch("main")).unwrap();
    let counts: Vec<_> = main
        .history(None, None)
        .unwrap()
        .iter()
        .map(|s| s.revision.totals().files)
        .collect();
    assert_eq!(counts, (0..80).rev().collect::<Vec<u64>>());
}
