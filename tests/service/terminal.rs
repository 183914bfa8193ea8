//! A terminal with a program on it, and nobody before it but the test.

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Pty, open};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, tcgetattr};

/// How long a program may keep silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal that is not `dumb`, and what it has shown.
pub(crate) struct Terminal {
    /// What a person types and sees. Dropped, the window is closed.
    pty: Pty,
    child: Child,
    shown: Vec<u8>,
    /// Up to where [`Terminal::wait_for`] has looked.
    looked_at: usize,
}

/// What was left when the program had ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// Everything that was shown, with plain ends of lines.
    pub(crate) shown: String,
    /// True if the terminal shows what is typed.
    pub(crate) echoes: bool,
}

impl Terminal {
    /// Runs a program on a terminal of 80 columns, its input, output and errors.
    pub(crate) fn run(command: Command) -> Self {
        Self::run_in(80, command)
    }

    /// The same with so many columns.
    pub(crate) fn run_in(columns: u16, mut command: Command) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(24, columns)).unwrap();
        if command.get_envs().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm");
        }
        let child = pty_process::blocking::Command::from(command);
        Self {
            child: child.spawn(pts).unwrap(),
            pty,
            shown: Vec::new(),
            looked_at: 0,
        }
    }

    /// Reads up to a text that was not waited for yet.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let rest = String::from_utf8_lossy(&self.shown[self.looked_at..]).into_owned();
            if let Some(place) = rest.find(text) {
                let end = place + text.len();
                self.looked_at += end;
                return rest[..end].to_owned();
            }
            assert!(self.read(), "it ended without \"{text}\": {rest:?}");
        }
    }

    /// Types this; `\u{3}` is Ctrl-C, `\u{4}` Ctrl-D.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.pty.write_all(text.as_bytes()).unwrap();
    }

    /// True if it shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        // Asked at this end, it tells what holds at the program's.
        let modes = tcgetattr(&self.pty).unwrap().local_modes;
        modes.contains(LocalModes::ECHO)
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        let shown = String::from_utf8(std::mem::take(&mut self.shown)).unwrap();
        Ended {
            code,
            shown: shown.replace("\r\n", "\n"),
            echoes: self.echoes(),
        }
    }

    /// Closes the window, and leaves the program to itself.
    pub(crate) fn close(self) -> Child {
        self.child
    }

    /// Reads what comes next; false when nothing will.
    #[track_caller]
    fn read(&mut self) -> bool {
        let end = Instant::now() + PATIENCE;
        let mut waits = [PollFd::new(&self.pty, PollFlags::IN)];
        let patience = Timespec::try_from(PATIENCE).unwrap();
        assert!(
            poll(&mut waits, Some(&patience)).unwrap() > 0 && Instant::now() < end,
            "nothing comes after {:?}",
            String::from_utf8_lossy(&self.shown)
        );
        let mut buffer = [0; 4096];
        // The system calls it an error when the program's end is closed.
        let count = self.pty.read(&mut buffer).unwrap_or(0);
        self.shown.extend_from_slice(&buffer[..count]);
        count > 0
    }
}
