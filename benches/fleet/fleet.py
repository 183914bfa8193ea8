"""The two stores of a run, with the same population in each: one in a folder, one in a database that
several daemons serve."""

import contextlib
import glob
import os
import shutil
import subprocess
import time

import bench
import population
import program
import servers

DAEMONS = 4
START_S = 20
# Debian keeps the programs of each version apart; the last one counts.
PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1:]
INITDB = os.path.join(PROGRAMS[0], "initdb") if PROGRAMS else "initdb"
OWNER = "postgres"
# What a server of two cores and some gigabytes is given; the rest is PostgreSQL's own, so it syncs.
SETTINGS = """
listen_addresses = ''
shared_buffers = 512MB
max_wal_size = 4GB
"""


class Database:
    """A PostgreSQL of the run's own, on a socket in its folder, that keeps what it acknowledges."""

    def __init__(self):
        # Of its own, because the server does not run as root, and short, because a socket's path is.
        self.folder = program.new_folder("siteconf-pg-")
        self.process = None
        self.as_owner = {}
        if os.geteuid() == 0:
            shutil.chown(self.folder, OWNER, OWNER)
            self.as_owner = {"user": OWNER, "group": OWNER, "extra_groups": []}
        self.url = f"postgres://siteconf@{self.folder.replace('/', '%2F')}/siteconf"

    def start(self):
        data = os.path.join(self.folder, "data")
        self.run("initdb", "-U", "siteconf", "-A", "trust", "-E", "UTF8", "--locale=C", "-D", data)
        with open(os.path.join(data, "postgresql.conf"), "a", encoding="utf-8") as settings:
            settings.write(SETTINGS)
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [self.program("postgres"), "-D", data, "-k", self.folder], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.as_owner)
        end = time.monotonic() + START_S
        while not self.answers():
            if time.monotonic() > end or self.process.poll() is not None:
                with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
                    raise SystemExit(f"PostgreSQL does not start:\n{log.read()[-2000:]}")
            time.sleep(0.05)
        self.run("createdb", "-h", self.folder, "-U", "siteconf", "siteconf")

    def answers(self):
        asked = [self.program("pg_isready"), "-q", "-h", self.folder]
        return subprocess.run(asked, check=False).returncode == 0

    def ask(self, sql):
        self.run("psql", "-q", "-h", self.folder, "-U", "siteconf", "-c", sql, "siteconf")

    @contextlib.contextmanager
    def snapshot(self):
        """Has a session hold a snapshot, as a dump does."""
        session = subprocess.Popen(
            [self.program("psql"), "-qAt", "-h", self.folder, "-U", "siteconf", "siteconf"],
            cwd=self.folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **self.as_owner)
        try:
            session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 'held';\n")
            session.stdin.flush()
            if session.stdout.readline() != "held\n":
                raise SystemExit("no snapshot is held")
            yield
        finally:
            session.communicate()

    def program(self, name):
        return os.path.join(PROGRAMS[0], name)

    def run(self, name, *arguments):
        done = subprocess.run([self.program(name), *arguments], cwd=self.folder, text=True,
                              capture_output=True, check=False, **self.as_owner)
        if done.returncode != 0:
            raise SystemExit(f"{name}: {done.stderr}")

    def end(self):
        if self.process:
            # Asks for a stop that waits for nobody.
            self.process.send_signal(2)
            self.process.wait(timeout=40)
        shutil.rmtree(self.folder, ignore_errors=True)


class Daemon(servers.Service):
    """One of the daemons over the database."""

    def __init__(self, work, binary, number, database):
        key = os.path.join(work, "server-key")
        super().__init__(work, binary, f"daemon-{number}",
                         ["--store", database.url, "--server-key-file", key])

    def make_store(self):
        self.command("init")


class Run(bench.Session):
    """The embedded engine beside the one over PostgreSQL."""

    def __init__(self, work, binary):
        super().__init__(work, binary)
        self.embedded = servers.Service(work, binary, "embedded")
        self.database = Database()
        self.daemons = [Daemon(work, binary, number, self.database) for number in range(DAEMONS)]
        self.servers = [self.database, self.embedded, *self.daemons]
        # Without files that would need a bucket.
        self.people = {service: population.Population(service, work, population.FILE_BYTES)
                       for service in (self.embedded, self.daemons[0])}

    def set_up(self):
        self.database.start()
        self.daemons[0].make_store()
        for service, people in self.people.items():
            service.start("warn")
            people.make()
        self.restart()

    def restart(self):
        """Starts all daemons anew, so that none has anything in memory."""
        for service in (self.embedded, *self.daemons):
            service.end()
            service.start("info")

    def print_title(self, ours="over PostgreSQL", theirs="embedded"):
        super().print_title(ours, theirs)
