//! The command line: the only layer that reads flags, the environment and files of settings, and the
//! only one that prints.
//!
//! It decides nothing: each command opens the store, calls the layer that knows, and shows what came
//! back. All but `serve` work beside a running daemon; `debug` reads even a damaged store.

mod args;
mod audit;
mod backup;
mod branch;
mod bucket;
mod config;
mod copy;
mod debug;
mod deleted;
mod engine;
mod error;
mod example;
mod export;
mod file;
mod first_start;
mod import;
mod init;
mod log;
mod manual;
mod migrate_tree;
mod names;
mod open_store;
mod output;
mod password;
mod project;
mod pull;
mod running;
mod serve;
mod settings;
mod status;
mod token;
mod upkeep;
mod user;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use rustix::process::Signal;
use signal_hook::flag;

use args::{Cli, Command};
pub use error::{Error, Result};
use open_store::OpenStore;
use project::args::ProjectCommand;
use settings::{EVERYWHERE, Flags, Settings};
use upkeep::{collect, migrate, prune, upgrade};

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing to say against it: exit code 0.
    Fine,
    /// It looked for faults and found some: exit code 1.
    Findings,
    /// Ctrl-C ended what has no end of its own: exit code 130, as a shell has it.
    Interrupted,
}

/// Where a command reads and writes.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of a stream")]
struct Streams<'a> {
    /// What is piped in.
    input: &'a mut dyn BufRead,
    /// Results.
    out: &'a mut dyn Write,
    /// Everything else: refusals, questions, progress.
    err: &'a mut dyn Write,
    /// True if a person types the input.
    input_is_terminal: bool,
    /// True if a person sees `out`, and nothing keeps it.
    out_is_terminal: bool,
    /// True if what is written to `out` is lost: it was closed when the program began.
    out_is_closed: bool,
    /// True if standard input was closed when the program began: then it reads as empty.
    input_is_closed: bool,
    /// True if a person may be watching `err`.
    err_is_terminal: bool,
}

impl Streams<'_> {
    /// Says on one line what was done, to a person: a program knows it by the exit code.
    fn tell(&mut self, line: impl Display) -> Result<()> {
        if self.out_is_terminal {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// As [`Streams::tell`], of a change that was made, which the error says where the line cannot be written.
    fn tell_change(&mut self, line: impl Display) -> Result<()> {
        let told = self.tell(line);
        output::of_change(told, self.out, None)
    }

    /// Refuses to make what is printed once, where nobody would see it.
    fn require_out(&self, what: &str) -> Result<()> {
        if self.out_is_closed {
            return Err(Error::Failed(format!(
                "standard output leads nowhere, and {what} is printed there, once: run the same with it open"
            )));
        }
        Ok(())
    }

    /// Says something on standard error, behind the results that were written so far.
    fn note(&mut self, line: impl Display) -> Result<()> {
        self.out.flush()?;
        writeln!(self.err, "{line}")?;
        Ok(())
    }
}

/// Runs one command line, the program's name first, and writes results to `out` and everything else
/// to `err`, which stands for standard error. A password is read from standard input.
///
/// # Errors
/// None: they are shown on `err` and become the exit code. 0 is success, 1 a failure or a finding, 2
/// a wrong command line or setting. A reader of `out` that left is no failure.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> ExitCode {
    // Without a handler, a write beyond the limit on the length of files (`ulimit -f`) ends the process. With one
    // it fails, as on a full disk. Programs that this one starts do not inherit it.
    let _registered = flag::register(Signal::XFSZ.as_raw(), Arc::default());
    let stdin = io::stdin();
    let streams = Streams {
        input_is_terminal: stdin.is_terminal(),
        out_is_terminal: io::stdout().is_terminal(),
        out_is_closed: output::was_closed(io::stdout()),
        input_is_closed: output::was_closed(&stdin),
        err_is_terminal: io::stderr().is_terminal(),
        input: &mut stdin.lock(),
        out,
        err,
    };
    run_on(args, streams)
}

fn run_on(args: impl IntoIterator<Item = OsString>, mut streams: Streams<'_>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    let outcome = match Cli::try_parse_from(&args) {
        // Whether anybody can read what a service says is nothing to it.
        Ok(cli) if matches!(cli.command, Command::Serve(_)) => {
            let ended = dispatch(cli, &mut streams);
            let _said = streams.out.flush();
            return exit_code(ended, &mut streams);
        }
        Ok(cli) => dispatch(cli, &mut streams),
        Err(refusal) if refusal.use_stderr() => {
            // Without a place to say it there is only the exit code.
            let refusal = args::by_the_line_alone(refusal, &args);
            let _said = write!(streams.err, "{}", refusal.render());
            return ExitCode::from(2);
        }
        Err(help) => show(&help, streams.out),
    };
    let outcome = outcome.and_then(|outcome| {
        streams.out.flush()?;
        Ok(outcome)
    });
    exit_code(outcome, &mut streams)
}

/// The exit code of what came of a command, behind a word about what failed.
fn exit_code(outcome: Result<Outcome>, streams: &mut Streams<'_>) -> ExitCode {
    match outcome {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        // Who closed the pipe has seen enough.
        Err(Error::Output(e)) if e.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let said = output::visible_lines(&error.to_string());
            // Behind what was written before it failed.
            let _written = streams.out.flush();
            let _said = writeln!(streams.err, "siteconf: {said}");
            error.exit_code()
        }
    }
}

/// Shows the help or the version that was asked for.
fn show(help: &clap::Error, out: &mut dyn Write) -> Result<Outcome> {
    write!(out, "{}", help.render())?;
    Ok(Outcome::Fine)
}

/// The settings that hold for a command.
fn settings_of(command: &Command, mut everywhere: Flags<EVERYWHERE>) -> Result<Settings> {
    if let Command::Copy(args) = command
        && let Some(url) = args.database()
    {
        // What is set for a store in PostgreSQL is for the one of its two that is one.
        everywhere = everywhere.with_store(url);
    }
    let own = match command {
        Command::Serve(flags) => flags.settings.given(),
        Command::Import(args) => args.settings.given(),
        Command::Put(args) => args.settings.given(),
        Command::MigrateTree(args) => args.settings.given(),
        Command::Project(ProjectCommand::List(args)) => args.settings.given(),
        Command::Prune(args) => args.settings.given(),
        Command::Gc(args) => args.settings.given(),
        Command::Status(args) => args.settings.given(),
        _ => &[],
    };
    Settings::gather(everywhere, own)
}

fn dispatch(cli: Cli, streams: &mut Streams<'_>) -> Result<Outcome> {
    let fine = |()| Outcome::Fine;
    // Those that need no settings, or are about them.
    match cli.command {
        Command::Config(command) => {
            return config::run(*command, cli.settings, streams).map(fine);
        }
        Command::Pull(args) => return pull::run(&args, streams),
        Command::Completions(args) => return manual::completions(&args, streams).map(fine),
        Command::Man(args) => return manual::pages(&args, streams).map(fine),
        Command::Example { name } => return example::print(name, streams.out).map(fine),
        _ => {}
    }
    let settings = settings_of(&cli.command, cli.settings)?;
    if !matches!(cli.command, Command::Serve(_)) {
        log::of_command(&settings.log)?;
    }
    let ended = run_at(cli.command, &settings, streams);
    ended.map_err(|error| engine::located(error, &settings))
}

/// Runs a command that has settings. Its errors do not say which store they are of.
fn run_at(command: Command, settings: &Settings, streams: &mut Streams<'_>) -> Result<Outcome> {
    let fine = |()| Outcome::Fine;
    match command {
        Command::Serve(flags) => serve::serve(settings, &flags, streams).map(fine),
        Command::Init(args) => init::init(&args, settings, streams).map(fine),
        Command::Status(args) => {
            status::show(&args, settings, &OpenStore::for_reading(settings)?, streams)
        }
        Command::User(command) => {
            let opened = OpenStore::to(command.changes(), settings)?;
            user::run(command, &opened, streams).map(fine)
        }
        Command::Token(command) => {
            let opened = OpenStore::to(command.changes(), settings)?;
            token::run(command, &opened, streams).map(fine)
        }
        Command::Project(command) => {
            let opened = OpenStore::to(command.changes(), settings)?;
            project::run(&command, settings, &opened, streams)
        }
        Command::Branch(command) => {
            let opened = OpenStore::to(command.changes(), settings)?;
            branch::run(&command, &opened, streams).map(fine)
        }
        Command::History(args) => {
            branch::history::show(&args, &OpenStore::for_reading(settings)?, streams).map(fine)
        }
        Command::Diff(args) => {
            branch::diff::show(&args, &OpenStore::for_reading(settings)?, streams)
        }
        Command::Rollback(args) => {
            let opened = OpenStore::to(!args.dry_run, settings)?;
            branch::rollback::run(&args, &opened, streams).map(fine)
        }
        Command::Ls(args) => {
            file::ls::list(&args, &OpenStore::for_reading(settings)?, streams).map(fine)
        }
        Command::Cat(args) => {
            file::cat::write(&args, &OpenStore::for_reading(settings)?, streams).map(fine)
        }
        Command::Put(args) => {
            let opened = OpenStore::beside(settings)?;
            file::put::save(&args, settings.file_bytes_max, &opened, streams).map(fine)
        }
        Command::Rm(args) => {
            file::rm::delete(&args, &OpenStore::beside(settings)?, streams).map(fine)
        }
        Command::Import(args) => {
            let opened = OpenStore::to(!args.dry_run, settings)?;
            import::import(&args, settings, &opened, streams)
        }
        Command::MigrateTree(args) => migrate_tree::run(&args, settings, streams),
        Command::Export(args) => {
            export::export(&args, &OpenStore::for_reading(settings)?, streams).map(fine)
        }
        Command::Prune(args) => {
            let opened = OpenStore::to(!args.dry_run, settings)?;
            prune::prune(&args, settings.keep, &opened, streams).map(fine)
        }
        Command::Gc(args) => {
            let opened = OpenStore::to(!args.dry_run, settings)?;
            collect::collect(&args, settings.keep_deleted_days, &opened, streams)
        }
        Command::Backup(args) => backup::run(&args, settings, streams),
        Command::Restore(args) => backup::restore(&args, settings, streams),
        Command::Upgrade(args) => upgrade::run(&args, settings, streams).map(fine),
        Command::Copy(args) => copy::run(&args, settings, streams).map(fine),
        Command::Migrate(role) => migrate::run(&role, settings, streams).map(fine),
        Command::Audit(args) => audit::run(args, &OpenStore::for_reading(settings)?, streams),
        Command::Debug(command) => debug::run(
            command,
            settings,
            &OpenStore::for_reading(settings)?,
            streams,
        ),
        // They have none.
        Command::Config(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Pull(_)
        | Command::Example { .. } => Ok(Outcome::Fine),
    }
}
