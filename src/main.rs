//! The binary: hands the process's arguments and streams to the command line.

use std::io::{self, BufWriter};
use std::process::ExitCode;

/// Less memory and less time than the C library's, which keeps an arena for each of many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Standard error stays unlocked: the log writes there from other threads.
    siteconf::cli::run(
        std::env::args_os(),
        &mut BufWriter::new(io::stdout()),
        &mut io::stderr(),
    )
}
