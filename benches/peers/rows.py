"""The rows of the table."""

import fnmatch
import os
import statistics
import sys

import population


def beside_nginx(title, kind, bar, quiet=False):
    """The service and nginx in turns, asked the same by the population."""
    def row(run):
        if quiet and not run.quiet_rows:
            return
        run.set_logging(not quiet)
        asked = population.KINDS[kind]
        run.compare(asked)
        heads = {server: run.people.heads(asked, server) for server in (run.service, run.nginx)}
        taken = {run.service: [], run.nginx: []}
        for _ in range(run.rounds):
            for server, path in heads.items():
                taken[server].append(run.wrk(server, path))
        ours, theirs = ([m.rate for m in taken[server]] for server in (run.service, run.nginx))
        run.line(title + (", no logs" if quiet else ""), ours, theirs,
                 [a / b for a, b in zip(ours, theirs)], None if quiet else bar)
        for server, measured in taken.items():
            check_sizes(server, measured)
            run.say(f"  cores: wrk {statistics.median(m.client_cpu for m in measured):.2f}, "
                    f"{server.name} {statistics.median(m.server_cpu for m in measured):.2f}; "
                    f"{measured[0].size:.0f} bytes an answer")
    return row


def check_sizes(server, measured):
    """Answers of one kind are about as long in every round."""
    sizes = [m.size for m in measured]
    if max(sizes) > 1.02 * min(sizes):
        raise SystemExit(f"{server.name}: answers of {min(sizes):.0f} to {max(sizes):.0f} bytes")


BESIDE_NGINX = [
    ("branches", "branch listing, gzip", 1.0),
    ("branches-plain", "branch listing, not compressed", 0.9),
    ("raw", "raw read of 4 KiB", 0.9),
    ("304", "the same with If-None-Match: 304", 0.8),
    ("tree", "recursive tree of 1,000 files, gzip", 0.9),
    ("raw-256k", "raw read of 256 KiB", None),
]

ROWS = {}
for name, title, bar in BESIDE_NGINX:
    ROWS[name] = beside_nginx(title, name, bar)
for name, title, bar in BESIDE_NGINX[:-1]:
    ROWS[f"{name}-quiet"] = beside_nginx(title, name, bar, quiet=True)


def chosen(patterns):
    """The rows that the command line names, in the order of the table."""
    if "--list" in patterns:
        print("\n".join(ROWS))
        sys.exit(0)
    for pattern in patterns:
        if not fnmatch.filter(ROWS, pattern):
            sys.exit(f"no row «{pattern}»; there are {', '.join(ROWS)}")
    if not patterns:
        return [row for name, row in ROWS.items()
                if name != "memory" or os.environ.get("MEMORY") == "1"]
    return [row for name, row in ROWS.items()
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
