//! The build script: tells the compiler the commit, and bundles the page into `OUT_DIR`, where `http::web`
//! takes it from. Its packages come through npm, by the lock, and stay beside the build.
//!
//! Where npm is missing or cannot reach its packages the build goes on without the page and says so.
//! `SITECONF_PAGE=require` makes that an error, `off` leaves the page out.
#![expect(
    clippy::disallowed_methods,
    reason = "this is how cargo and a build script talk"
)]

#[path = "../../.cargo/commit.rs"]
mod commit;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PAGE: &str = "src/page";

/// What the bundle is made of. What is else in the folder, as a developer's `node_modules`, is not looked at.
const SOURCES: [&str; 12] = [
    "app",
    "editor",
    "shared",
    "style",
    ".npmrc",
    "app.css",
    "build.mjs",
    "build.rs",
    "icon.svg",
    "index.html",
    "package-lock.json",
    "package.json",
];

/// What npm needs to know to get the packages.
const LISTS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

fn main() -> ExitCode {
    commit::tell();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={PAGE}/{source}");
    }
    println!("cargo::rerun-if-env-changed=SITECONF_PAGE");
    let wanted = env::var("SITECONF_PAGE").unwrap_or_default();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let bundle = out.join("page");
    let bundled = match wanted.as_str() {
        "off" => Ok(Vec::new()),
        "" | "require" => bundle_page(&out, &bundle),
        other => Err(format!(
            "SITECONF_PAGE is \"{other}\"; it must be require or off"
        )),
    };
    let bundled = match bundled {
        Ok(files) => files,
        Err(why) if wanted.is_empty() => {
            println!("cargo::warning=the page is left out of this build: {why}");
            Vec::new()
        }
        Err(why) => {
            println!("cargo::error=the page cannot be built: {why}");
            return ExitCode::FAILURE;
        }
    };
    match fs::write(out.join("page.rs"), table(&bundled)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=the table of the page's files cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Gets the packages and bundles the page into a folder. Returns its files.
fn bundle_page(out: &Path, bundle: &Path) -> Result<Vec<PathBuf>, String> {
    let packages = out.join("packages");
    install(&packages).map_err(|error| format!("npm: {error}"))?;
    let failed = |error: io::Error| format!("the bundler: {error}");
    if bundle.exists() {
        fs::remove_dir_all(bundle).map_err(failed)?;
    }
    let mut node = Command::new("node");
    node.arg(Path::new(PAGE).join("build.mjs"));
    node.arg("--out").arg(bundle);
    node.arg("--modules").arg(packages.join("node_modules"));
    run(&mut node).map_err(failed)?;
    let entries = fs::read_dir(bundle).map_err(failed)?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    files.sort();
    Ok(files)
}

/// Gets the packages into a folder, unless it was made from the same lists: the lock is copied last.
fn install(packages: &Path) -> io::Result<()> {
    let made_from = packages.join("made-from");
    let mut lists = Vec::new();
    for list in LISTS {
        lists.extend(fs::read(Path::new(PAGE).join(list))?);
    }
    if fs::read(&made_from).is_ok_and(|known| known == lists) {
        return Ok(());
    }
    fs::create_dir_all(packages)?;
    for list in LISTS {
        fs::copy(Path::new(PAGE).join(list), packages.join(list))?;
    }
    let mut npm = Command::new("npm");
    npm.current_dir(packages);
    npm.args(["ci", "--ignore-scripts", "--omit=dev", "--prefer-offline"]);
    // Without a network: soon told.
    npm.args(["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]);
    npm.args(["--loglevel=error"]);
    run(&mut npm)?;
    fs::write(made_from, lists)
}

/// Runs a program to its end; what it says is shown if it fails.
fn run(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("{name} cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let told: Vec<_> = told.lines().take(12).collect();
    Err(io::Error::other(format!(
        "{name}: {}: {}",
        output.status,
        told.join(" | ")
    )))
}

/// The Rust that embeds files: names and bytes.
fn table(files: &[PathBuf]) -> String {
    let mut rust = String::from("/// Name and bytes of each file of the page.\n");
    rust.push_str("const FILES: &[(&str, &[u8])] = &[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = path.to_string_lossy();
        writeln!(rust, "    ({name:?}, include_bytes!({path:?})),").expect("a string takes all");
    }
    rust.push_str("];\n");
    rust
}
