//! What a command prints, up to a limit.

use std::io::{self, PipeReader, Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

/// Most bytes of one run that are passed on.
const BYTES_MAX: usize = 64 << 10;
/// How many pieces are read at a time.
const CHUNKS_MAX: u32 = 16;

/// What one run of a command prints.
#[derive(Debug)]
pub(super) struct Printed {
    /// `None` once everybody who might print has closed it.
    pipe: Option<PipeReader>,
    /// Bytes that may still be passed on.
    left: usize,
    /// True once something was left out, which is said.
    is_cut: bool,
}

impl Printed {
    /// A pipe, and its end for the command's standard output and standard error.
    pub(super) fn new() -> io::Result<(Self, [Stdio; 2])> {
        let (pipe, end) = io::pipe()?;
        ioctl_fionbio(&pipe, true)?;
        let printed = Self {
            pipe: Some(pipe),
            left: BYTES_MAX,
            is_cut: false,
        };
        Ok((printed, [end.try_clone()?.into(), end.into()]))
    }

    /// Waits so long for something, and passes on what is there.
    pub(super) fn pass_on(&mut self, to: &mut dyn Write, wait: Duration) {
        let Some(pipe) = &mut self.pipe else {
            thread::sleep(wait);
            return;
        };
        let timeout = Timespec::try_from(wait).ok();
        // Without an answer it is looked for all the same.
        let _ready = poll(&mut [PollFd::new(&*pipe, PollFlags::IN)], timeout.as_ref());
        let mut chunk = [0; 8 << 10];
        // Not for ever, however much comes.
        for _ in 0..CHUNKS_MAX {
            match pipe.read(&mut chunk) {
                Ok(0) => {
                    self.pipe = None;
                    return;
                }
                Ok(count) => {
                    let shown = count.min(self.left);
                    self.left -= shown;
                    // Who does not listen cannot be told.
                    let _told = to.write_all(&chunk[..shown]);
                    if shown < count && !self.is_cut {
                        self.is_cut = true;
                        let what = "what else the command of --exec prints is left out";
                        let _told = writeln!(to, "\nsiteconf: {what}");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // There is no more now.
                Err(_) => return,
            }
        }
    }
}
