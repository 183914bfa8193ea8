"""The rows of the table, by name. Each is called with the run that it measures in."""

import os
import statistics
import time

import population
from bench import milliseconds, rate, run_with_saves
from fleet import DAEMONS
from population import API, Project

# How many writers there are, and how many saves they make in a round.
WRITERS = {1: 1000, 16: 6000, 64: 8000}
# By the numbers of daemons and of writers: the least share of the embedded engine's saves a second.
SAVES_BAR = {(1, 64): 0.5, (DAEMONS, 64): 0.65}
# Of one writer through one daemon: the most times as long a save takes.
LATENCY_BAR = 2.5
# The least share of the embedded engine's reads a second, and the saves beside them.
READS_BAR = 0.8
SAVES_BESIDE = 200
READS = [
    ("branches", "branch listing, gzip"),
    ("raw", "raw read of 4 KiB"),
    ("304", "the same with If-None-Match: 304"),
    ("tree", "recursive tree of 1,000 files, gzip"),
]
# How long a snapshot is held, and the most times as long a save takes then.
SNAPSHOT_COMMITS = 100_000
SNAPSHOT_BAR = 1.5
DIGEST_FILES = 100_000
DIGEST_BAR_S = 1.5
FORGET_DIGESTS = "DELETE FROM siteconf.record WHERE key >= 'digest/' AND key < 'digest0'"


def saved_branches():
    return [f"release-{number:02}" for number in range(2, 9)]


def saves(run):
    """Saves of 4 KiB over HTTP, each writer in a branch of its own, as far as there are branches."""
    branches = saved_branches()
    targets = {service: people.saving(people.saved, branches)
               for service, people in run.people.items()}
    fleet = run.daemons[0]
    for writers, count in WRITERS.items():
        taken = {daemons: [] for daemons in (0, 1, 2, DAEMONS)}
        for _ in range(run.rounds):
            for daemons, measured in taken.items():
                service = fleet if daemons else run.embedded
                asked = run.daemons[:daemons] or [run.embedded]
                addresses = ",".join(each.address for each in asked)
                measured.append(run.numbers(run.client(
                    "writers", addresses, targets[service], writers, count)))
        told = {daemons: told_saves(measured) for daemons, measured in taken.items()}
        beside = taken.pop(0)
        for daemons, measured in taken.items():
            title = f"saves a second, {writers} writers through {daemons} daemons"
            run.line(title, told[daemons], told[0],
                     [theirs[4] / ours[4] for ours, theirs in zip(measured, beside)],
                     SAVES_BAR.get((daemons, writers)))
            if writers == 1 and daemons == 1:
                run.line("p50 of one save, in times of the embedded engine's", told[1], told[0],
                         [ours[1] / theirs[1] for ours, theirs in zip(measured, beside)],
                         LATENCY_BAR, most=True)


def told_saves(measured):
    """The rate of saves, and within which times half and most of them were answered."""
    counts, halves, most, _, all_of_them = zip(*measured)
    each = rate([count / took * 1e6 for count, took in zip(counts, all_of_them)])
    return f"{each}, p50 {milliseconds(halves)}, p99 {milliseconds(most)}"


def snapshot(run):
    """Saves by one writer, before and after a session has held a snapshot for many commits."""
    fleet = run.daemons[0]
    people = run.people[fleet]
    targets = people.saving(people.saved, saved_branches())

    def written(writers, count):
        return run.numbers(run.client("writers", fleet.address, targets, writers, count))

    before = [written(1, WRITERS[1]) for _ in range(run.rounds)]
    with run.database.snapshot():
        written(64, SNAPSHOT_COMMITS)
        held = [written(1, WRITERS[1]) for _ in range(run.rounds)]
    run.line(f"one writer beside a snapshot of {SNAPSHOT_COMMITS:,} commits ago, and before it",
             told_saves(held), told_saves(before),
             [ours[1] / theirs[1] for ours, theirs in zip(held, before)], SNAPSHOT_BAR, most=True)


def reads(kind, title):
    """One daemon beside the embedded engine, then both while others save: through it to a folder, through
    another daemon to the database."""
    def row(run):
        asked = population.KINDS[kind]
        services = (run.daemons[0], run.embedded)
        heads = {}
        for service in services:
            people = run.people[service]
            people.take_tags(asked)
            heads[service] = people.heads(asked, service)
            run.wrk(service, heads[service], seconds=2)
        saving = {run.daemons[0]: run.daemons[1], run.embedded: run.embedded}
        targets = {service: run.people[service].saving(run.people[service].saved)
                   for service in services}
        for saves_a_second in (0, SAVES_BESIDE):
            taken = {service: [] for service in services}
            for _ in range(run.rounds):
                for service, measured in taken.items():
                    measured.append(run_with_saves(
                        run, service, heads[service], saving[service], targets[service],
                        saves_a_second))
            ours, theirs = ([one.rate for one, _ in measured] for measured in taken.values())
            beside = f", {saves_a_second} saves a second beside" if saves_a_second else ""
            for service, measured in taken.items():
                cores = statistics.median(one.server_cpu for one, _ in measured)
                run.say(f"  {service.name}: {cores:.2f} cores")
            run.line(title + beside, rate(ours), rate(theirs),
                     [a / b for a, b in zip(ours, theirs)], READS_BAR)
    return row


def digest(run):
    """The first listing of the branches of a project with many files, by a daemon with nothing in memory
    and a database that keeps no digest."""
    folder = os.path.join(run.work, "many")
    population.write_small_files(folder, DIGEST_FILES)
    service = run.daemons[0]
    people = run.people[service]
    project = Project("many", people.accounts[0])
    client = people.login(project.account)
    client.ask("POST", f"{API}/projects", {"name": "many", "type": "erp"})
    project.make_branch(client, "main")
    token = client.ask("POST", f"{API}/tokens", {
        "name": "many", "repos": [project.repo_id]}).json()["tokenString"]
    service.command("import", project.repo_id, "main", folder)
    took = []
    for _ in range(run.rounds):
        for daemon in run.daemons:
            daemon.end()
        run.database.ask(FORGET_DIGESTS)
        service.start("info")
        reader = service.client({"PRIVATE-TOKEN": token})
        before = time.monotonic()
        reader.get(f"{project.read}/branches")
        took.append(time.monotonic() - before)
    for daemon in run.daemons[1:]:
        daemon.start("info")
    run.line(f"first digest of {DIGEST_FILES:,} files, nothing in memory",
             f"{statistics.median(took):.2f} s", "", took, DIGEST_BAR_S, most=True, judged_in=" s")


ROWS = {"saves": saves} | {f"reads-{kind}": reads(kind, title) for kind, title in READS}
ROWS["digest"] = digest
ROWS["snapshot"] = snapshot
