//! The settings on the command line, before the service goes by them.

use std::env;

use clap::{Args, Subcommand};

use super::settings::{EVERYWHERE, Flags, OF_COMMANDS, Settings, effective, unknown_variables};
use super::{Result, Streams, serve};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Reads the settings as the commands would, opens no store and no port, and says what is wrong
    Check(ConfigFlags),
    /// Prints the settings that hold as a file of settings, each with where it came from
    Print(ConfigFlags),
}

#[derive(Debug, Args)]
pub(super) struct ConfigFlags {
    #[command(flatten)]
    settings: Flags<OF_COMMANDS>,
}

/// Runs one of the commands of `config`.
pub(super) fn run(
    command: ConfigCommand,
    everywhere: Flags<EVERYWHERE>,
    streams: &mut Streams<'_>,
) -> Result<()> {
    match command {
        ConfigCommand::Check(flags) => {
            serve::check(&Settings::gather(everywhere, flags.settings)?)?;
            // Not refused: what starts the service may set variables of its own, as Kubernetes does.
            for name in unknown_variables(env::vars_os().map(|(name, _)| name)) {
                writeln!(streams.err, "{name} in the environment is no setting")?;
            }
            writeln!(streams.out, "the settings are right")?;
        }
        ConfigCommand::Print(flags) => {
            write!(streams.out, "{}", effective(everywhere, flags.settings)?)?;
        }
    }
    Ok(())
}
