"""One run: the servers, the population, the measuring with wrk, and the lines of the table."""

import os
import resource
import statistics
import subprocess
import sys
import time

import population
import servers

HERE = os.path.dirname(os.path.realpath(__file__))
CONNECTIONS = 32
# How long paced saves run before wrk begins, and after it should have ended.
AROUND_S = 0.3
# How long a process of a run may take, in seconds, before it counts as hanging.
PROCESS_S = 600


class Measured:
    """What wrk found in one run."""

    def __init__(self, answers, seconds, size, client_cpu, server_cpu):
        self.rate = answers / seconds
        self.size = size / answers
        self.client_cpu = client_cpu / seconds
        self.server_cpu = server_cpu / seconds


class Session:
    """What a run has whatever it compares: the processes it starts, wrk, the client, and the table."""

    def __init__(self, work, binary):
        self.work = work
        self.rounds = int(os.environ.get("ROUNDS", "5"))
        self.seconds = int(os.environ.get("SECONDS_A_RUN", "3"))
        self.binary = binary
        # Ended with the run, the last one first.
        self.servers = []
        self.processes = []
        self.runs = 0
        self.client_binary = None

    def say(self, text):
        """Tells on the side how it goes."""
        print(text, file=sys.stderr, flush=True)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for server in reversed(self.servers):
            server.end()

    def begin(self, arguments, **others):
        """Starts a process that ends with the run at the latest."""
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, **others)
        self.processes.append(process)
        return process

    def finish(self, process):
        """What it printed; it must have succeeded, and not have taken longer than anything here should."""
        try:
            said = process.communicate(timeout=PROCESS_S)[0]
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{process.args}: had not ended after {PROCESS_S} s") from None
        self.processes.remove(process)
        if process.returncode != 0:
            raise SystemExit(f"{process.args}: ended with {process.returncode}\n{said}")
        return said

    def client(self, *arguments):
        """Starts the client that wrk cannot be."""
        if not self.client_binary:
            self.client_binary = os.path.join(self.work, "client")
            subprocess.run(["rustc", "--edition", "2024", "-O", "-o", self.client_binary,
                            os.path.join(HERE, "client.rs")], check=True)
        return self.begin([self.client_binary, *map(str, arguments)])

    def numbers(self, process):
        """The numbers that the client printed."""
        return [int(word) for word in self.finish(process).split()]

    def wrk(self, server, heads, seconds=None, connections=CONNECTIONS, tls=False):
        """One run of wrk; a failed request ends everything."""
        return self.wrk_result(server, self.begin_wrk(server, heads, seconds, connections, tls))

    def begin_wrk(self, server, heads, seconds, connections, tls=False):
        url = f"https://{server.tls_address}" if tls else f"http://{server.address}"
        self.runs += 1
        server.forget_log()
        self.before = server.cpu_s(), children_cpu_s()
        return self.begin([
            "wrk", "-t1", f"-c{connections}", f"-d{seconds or self.seconds}s",
            "-s", os.path.join(HERE, "population.lua"), url,
            heads, str(self.runs)])

    def wrk_result(self, server, process):
        said = self.finish(process)
        before, own = self.before
        after = server.cpu_s()
        server.forget_log()
        line = [line for line in said.splitlines() if line.startswith("result ")]
        answers, microseconds, size, failed = (int(word) for word in line[0].split()[1:])
        if failed or not answers:
            raise SystemExit(f"errors of {server.name}:\n{said}")
        return Measured(answers, microseconds / 1e6, size, children_cpu_s() - own, after - before)

    def print_title(self, ours="siteconf", theirs="beside it"):
        cores = len(os.sched_getaffinity(0))
        print(f"| {time.strftime('%Y-%m-%d')}, {cores} cores shared by client and server, "
              f"{CONNECTIONS} connections | {ours} | {theirs} | ratio | spread | bar | |")
        print("|---|---|---|---|---|---|---|", flush=True)

    def line(self, title, ours, theirs, judged, bar, most=False, judged_in=""):
        """A line of the table. What is judged, a ratio unless it has a unit, is the median of the
        rounds; the bar says how much it is at least, or at most."""
        ratio = statistics.median(judged)
        if bar is None:
            shown, verdict = "", ""
        else:
            shown = f"at {'most' if most else 'least'} {bar:g}{judged_in}"
            held = round(ratio, 2) <= bar if most else round(ratio, 2) >= bar
            verdict = "held" if held else "missed"
        print(f"| {title} | {ours} | {theirs} | {ratio:.2f}{judged_in} | "
              f"{min(judged):.2f} to {max(judged):.2f} | {shown} | {verdict} |", flush=True)


class Run(Session):
    """The service beside nginx."""

    def __init__(self, work, binary):
        super().__init__(work, binary)
        self.quiet_rows = os.environ.get("QUIET", "1") != "0"
        self.service = servers.Service(work, binary)
        self.nginx = servers.Nginx(work)
        self.people = population.Population(self.service, work)
        self.servers = [self.service, self.nginx]
        self.logging = True
        self.compared = set()
        # The service's rate of each kind of request with logs, as far as measured.
        self.rates = {}

    def set_up(self):
        self.service.start("warn")
        self.people.make()
        self.nginx.start(logging=True)
        self.people.lay_out(self.nginx)
        self.service.end()
        self.service.start("info")
        self.warm_up()

    def set_logging(self, logging):
        """Both with their logs, or both without."""
        if self.logging == logging:
            return
        self.service.end()
        self.nginx.end()
        self.service.start("info" if logging else "off")
        self.nginx.start(logging)
        self.logging = logging
        self.warm_up()

    def warm_up(self):
        """Every instance asks both once."""
        kind = population.KINDS["branches"]
        for server in (self.service, self.nginx):
            self.wrk(server, self.people.heads(kind, server), seconds=2)

    def compare(self, kind):
        """Checks once that both answer the same."""
        if kind.name not in self.compared:
            self.people.compare(kind, self.nginx)
            self.compared.add(kind.name)


def run_with_saves(run, service, heads, saving_service, targets, saves):
    """What wrk found of a service, and the 99th percentile of so many saves a second beside it, through
    that service or another one, from when they were due."""
    if not saves:
        return run.wrk(service, heads), 0
    saving = run.client("saves", saving_service.address, targets, saves, run.seconds + 2 * AROUND_S)
    time.sleep(AROUND_S)
    measured = run.wrk(service, heads)
    return measured, run.numbers(saving)[2]


def rate(values):
    return f"{statistics.median(values):,.0f}/s"


def milliseconds(microseconds):
    return f"{statistics.median(microseconds) / 1000:.2f} ms"


def children_cpu_s():
    """Seconds of processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
