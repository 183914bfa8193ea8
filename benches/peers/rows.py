"""The rows of the table, by name. Each is called with the run that it measures in."""

import statistics

import population
import single
from bench import milliseconds, rate, run_with_saves

# Name, title, and the least that the service answers for one answer of nginx.
BESIDE_NGINX = [
    ("branches", "branch listing, gzip", 1.0),
    ("branches-plain", "branch listing, not compressed", 0.9),
    ("raw", "raw read of 4 KiB", 0.9),
    ("304", "the same with If-None-Match: 304", 0.8),
    ("tree", "recursive tree of 1,000 files, gzip", 0.9),
    ("raw-256k", "raw read of 256 KiB", None),
]
# Saves a second in other projects, and the least share of the answers without them.
WITH_SAVES = [(20, 0.9), (200, 0.7)]


def beside_nginx(kind, title, bar, quiet=False, tls=False):
    """The service and nginx in turns, asked the same by the population, over TLS if that is said."""
    def row(run):
        if quiet and not run.quiet_rows:
            return
        run.set_logging(not quiet)
        asked = population.KINDS[kind]
        run.compare(asked)
        heads = {server: run.people.heads(asked, server) for server in (run.service, run.nginx)}
        taken = {server: [] for server in heads}
        for _ in range(run.rounds):
            for server, path in heads.items():
                taken[server].append(run.wrk(server, path, tls=tls))
        for server, measured in taken.items():
            check_sizes(run, asked, server, measured)
            tell_cores(run, server, measured)
        ours, theirs = ([one.rate for one in measured] for measured in taken.values())
        if not quiet and not tls:
            run.rates[kind] = statistics.median(ours)
        run.line(f"{title}, no logs" if quiet else title, rate(ours), f"nginx {rate(theirs)}",
                 [a / b for a, b in zip(ours, theirs)], None if quiet else bar)
    return row


def check_sizes(run, kind, server, measured):
    """Every round's answers must have been as long as those that were compared, and a head."""
    body = run.people.body_bytes[kind.name, server.name]
    for one in measured:
        if not 0.98 * body < one.size < 1.02 * body + 1200:
            raise SystemExit(f"{kind.name}: {server.name} sent {one.size:.0f} bytes an answer")


def tell_cores(run, server, measured):
    """Where the time went: wrk must not be what limits the rate."""
    client, own = (statistics.median(getattr(one, field) for one in measured)
                   for field in ("client_cpu", "server_cpu"))
    run.say(f"  {server.name}: {own:.2f} cores, wrk {client:.2f}")


def with_saves(kind, title):
    """The service without saves and with saves in other projects, in turns."""
    def row(run):
        run.set_logging(True)
        asked = population.KINDS[kind]
        run.compare(asked)
        heads = run.people.heads(asked, run.service)
        targets = run.people.saving(run.people.saved)
        taken = {saves: [] for saves in (0, *(saves for saves, _ in WITH_SAVES))}
        for _ in range(run.rounds):
            for saves, measured in taken.items():
                measured.append(run_with_saves(
                    run, run.service, heads, run.service, targets, saves))
        # Each round: what wrk found, and the 99th percentile of the saves beside it.
        taken, late = ({saves: [one[field] for one in measured]
                        for saves, measured in taken.items()} for field in (0, 1))
        alone = taken[0]
        for saves, bar in WITH_SAVES:
            measured = taken[saves]
            check_sizes(run, asked, run.service, measured)
            tell_cores(run, run.service, measured)
            run.line(f"{title}, {saves} saves a second", rate([one.rate for one in measured]),
                     f"without {rate([one.rate for one in alone])}; "
                     f"p99 of a save {milliseconds(late[saves])}",
                     [a.rate / b.rate for a, b in zip(measured, alone)], bar)
    return row


ROWS = {name: beside_nginx(name, title, bar) for name, title, bar in BESIDE_NGINX}
# The same certificate and key for both; connections are kept, as in the other rows.
ROWS["raw-tls"] = beside_nginx("raw", "raw read of 4 KiB over TLS", None, tls=True)
ROWS |= {f"{name}-saves": with_saves(name, title) for name, title, _ in BESIDE_NGINX
         if name in ("branches", "raw", "304", "tree")}
ROWS |= single.ROWS
ROWS |= {f"{name}-quiet": beside_nginx(name, title, bar, quiet=True)
         for name, title, bar in BESIDE_NGINX[:-1]}
