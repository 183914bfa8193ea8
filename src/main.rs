//! The binary: hands the process's arguments and streams to the command line.

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Standard error stays unlocked: the log writes there from other threads.
    siteconf::cli::run(
        std::env::args_os(),
        &mut BufWriter::new(io::stdout()),
        &mut io::stderr(),
    )
}
