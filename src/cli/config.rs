//! The settings on the command line, before the service goes by them.

use std::env;

use clap::{Args, Subcommand};

use super::output::visible_path;
use super::settings::{
    EVERYWHERE, Flags, OF_COMMANDS, Settings, effective, refuse, unknown_variables,
};
use super::{Error, Result, Streams, serve};

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
            let exposed = serve::check(&Settings::gather(everywhere, flags.settings.given())?)?;
            let unknown = unknown_variables(env::vars_os().map(|(name, _)| name)).into_iter();
            let wrong = |name| Error::Usage(format!("{name} in the environment is no setting"));
            refuse(unknown.map(wrong).collect())?;
            for found in exposed {
                let file = visible_path(found.file());
                streams.note(format_args!("siteconf: {file}: {found}"))?;
            }
            writeln!(streams.out, "the settings are right")?;
        }
        ConfigCommand::Print(flags) => {
            let all = effective(everywhere, flags.settings.given())?;
            write!(streams.out, "{all}")?;
        }
    }
    Ok(())
}
