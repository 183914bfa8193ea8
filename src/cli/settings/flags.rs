//! Settings as flags and variables, by the table.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::given::{Given, Source};
use super::table::{BOOL, EVERYWHERE, SETTINGS, Setting};

/// What was given for the settings that a command has as flags.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Flags<const COMMANDS: u8>(pub(super) Vec<Given>);

impl<const COMMANDS: u8> Flags<COMMANDS> {
    /// The same with this address of the store, whatever was given for it.
    pub(in crate::cli) fn with_store(mut self, url: &OsStr) -> Self {
        let setting = SETTINGS.iter().find(|setting| setting.name == "store");
        let setting = setting.expect("it is in the table");
        self.0.retain(|given| given.setting.name != setting.name);
        let url = vec![url.to_owned()];
        self.0.push(Given::plain(setting, Source::Flag, url));
        self
    }

    /// What was given.
    pub(in crate::cli) fn given(&self) -> &[Given] {
        &self.0
    }

    fn settings() -> impl Iterator<Item = &'static Setting> {
        let is_here = |setting: &&Setting| setting.commands & COMMANDS != 0;
        SETTINGS.iter().filter(is_here)
    }
}

impl<const COMMANDS: u8> Args for Flags<COMMANDS> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::settings().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const COMMANDS: u8> FromArgMatches for Flags<COMMANDS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Self::settings().filter_map(|setting| {
            let source = match matches.value_source(setting.name)? {
                ValueSource::EnvVariable => Source::Variable,
                _ => Source::Flag,
            };
            let values: Vec<_> = matches.get_raw(setting.name)?.map(OsString::from).collect();
            // As a file of variables has it that names one and gives it nothing.
            if source == Source::Variable && values.iter().all(|value| value.is_empty()) {
                return None;
            }
            Some(Given::plain(setting, source, values))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(setting: &'static Setting) -> Arg {
    let mut help = setting.help.to_owned();
    if !setting.default.is_empty() {
        help = format!("{help} [default: {}]", setting.default);
    }
    let argument = Arg::new(setting.name)
        .long(setting.flag())
        .env(setting.variable())
        .value_name(setting.value)
        .value_parser(value_parser!(OsString))
        .hide_env_values(setting.may_hold_secret())
        .help(help);
    match setting.value {
        BOOL => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ if setting.is_list() => argument.action(ArgAction::Append),
        _ if setting.commands == EVERYWHERE => argument.global(true).help_heading("Everywhere"),
        _ => argument,
    }
}
