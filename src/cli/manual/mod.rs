//! What shells and `man` know of the commands, made from the grammar.

pub(super) mod args;

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::generate;
use clap_mangen::Man;

use super::args::Cli;
use super::{Error, Result, Streams};
use args::{Completions, ManPages};

/// `completions`.
pub(super) fn completions(args: &Completions, streams: &mut Streams<'_>) -> Result<()> {
    let mut text = Vec::new();
    generate(args.shell, &mut Cli::command(), "siteconf", &mut text);
    // By itself it would end the process when nobody reads.
    streams.out.write_all(&text)?;
    Ok(())
}

/// `man`: a page for each command, named as `siteconf-token-create.1`.
pub(super) fn pages(args: &ManPages, streams: &mut Streams<'_>) -> Result<()> {
    fs::create_dir_all(&args.dir).map_err(Error::file("making", &args.dir))?;
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    let count = write_pages(&whole, "siteconf", &args.dir)?;
    writeln!(streams.out, "{count} pages in {}", args.dir.display())?;
    Ok(())
}

/// What ends a page, in the language of `man`.
const EXIT_STATUS: &str = "\
.SH \"EXIT STATUS\"
.TP
.B 0
It was done.
.TP
.B 1
It failed, or it looked for faults and found some.
.TP
.B 2
The command line or a setting is wrong; nothing was done.
.TP
.B 130
Ctrl\\-C ended it.
.TP
.B 143
SIGTERM ended it, where it did not end by itself with 0.
";

/// Writes the page of a command and those of its commands; how many they are.
fn write_pages(command: &Command, name: &str, dir: &Path) -> Result<usize> {
    let path = dir.join(format!("{name}.1"));
    let mut text = Vec::new();
    let page = Man::new(command.clone().name(name.to_owned())).source("siteconf");
    page.render(&mut text)
        .map(|()| text.extend_from_slice(EXIT_STATUS.as_bytes()))
        .and_then(|()| fs::write(&path, &text))
        .map_err(Error::file("writing", &path))?;
    let mut count = 1;
    for inner in command.get_subcommands() {
        count += write_pages(inner, &format!("{name}-{}", inner.get_name()), dir)?;
    }
    Ok(count)
}
