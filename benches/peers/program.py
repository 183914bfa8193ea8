"""What starts a run, chooses its rows, and ends it however it goes."""

import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def main(all_rows, make_run, tools):
    """Runs the rows that the command line names. Of each tool the name and Debian's package."""
    rows = chosen(all_rows, sys.argv[1:])
    check_tools(tools)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    work = new_folder("siteconf-bench-")
    run = None
    try:
        run = make_run(work, binary())
        began = time.monotonic()
        run.set_up()
        run.say(f"set up in {time.monotonic() - began:.0f} s")
        run.print_title()
        for row in rows:
            row(run)
        run.say(f"done in {time.monotonic() - began:.0f} s")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # What ends and removes must not be interrupted by a second one.
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_IGN)
        if run:
            run.end()
        shutil.rmtree(work, ignore_errors=True)


def new_folder(prefix):
    """A new folder on the disk: /tmp may be in memory, where a sync costs nothing. TMPDIR names another place."""
    return tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("TMPDIR", "/var/tmp"))


def chosen(all_rows, patterns):
    """The rows of these patterns, in the order of the table."""
    if "--list" in patterns:
        print("\n".join(all_rows))
        sys.exit(0)
    for pattern in patterns:
        if not fnmatch.filter(all_rows, pattern):
            sys.exit(f"no row \"{pattern}\"; there are {', '.join(all_rows)}")
    if not patterns:
        return [row for name, row in all_rows.items()
                if name != "memory" or os.environ.get("MEMORY") == "1"]
    return [row for name, row in all_rows.items()
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def check_tools(tools):
    missing = [(tool, package) for tool, package in tools if not shutil.which(tool)]
    if not os.environ.get("SITECONF_BINARY") and not shutil.which("cargo"):
        missing.append(("cargo", "rustup"))
    if missing:
        names, packages = (" ".join(each) for each in zip(*missing))
        print(f"missing: {names} (Debian's packages: {packages}; cargo and rustc: rustup)",
              file=sys.stderr)
        sys.exit(2)


def binary():
    given = os.environ.get("SITECONF_BINARY")
    if given:
        return os.path.realpath(given)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=TOP, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(TOP, "target"))
    return os.path.join(target, "release", "siteconf")
