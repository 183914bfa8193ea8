//! Targets that a backup refuses, and how soon.

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::stage::Stage;

#[test]
fn what_is_neither_a_file_nor_a_folder_is_refused_and_not_waited_for() {
    let stage = Stage::with_nothing();
    stage.done(&["init"]);
    let pipe = stage.shown("pipe.tar");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    for target in ["/dev/null", &pipe] {
        let said = "it is there and is no backup of siteconf; name another file";
        let said = format!("siteconf: {target}: {said}");
        stage.refused(&["backup", target], 1, &said);
    }
}
