"""The rows that do not set the service's rate beside nginx's: saves, pages, the times of paced
polls, connections held, an upload, git, memory."""

import os
import resource
import statistics
import subprocess
import time

import population
import servers
from bench import CONNECTIONS, milliseconds
from population import API, Project

SAVES_A_ROUND = 200
SAVES_BESIDE_POLLS = 20
MANY_BRANCHES = 5000
PAGE = 20
PAGES_A_ROUND = 100
HELD = 5000
GIT_FILES = 10_000
GIT_SAVES = 40
WRITERS = 8
MEMORY_AFTER = (40_000, 400_000)
MIB = 1 << 20


def save(run):
    """One save over HTTP beside an append of the same bytes to a file, and a sync of its data."""
    run.set_logging(True)
    targets = run.people.saving(run.people.saved[:1])
    file = os.path.join(run.work, "appended")
    taken = [run.numbers(run.client("appends", run.service.address, targets, file, SAVES_A_ROUND))
             for _ in range(run.rounds)]
    saved, appended = zip(*taken)
    run.line("one save of 4 KiB over HTTP", milliseconds(saved),
             f"append and fdatasync {milliseconds(appended)}",
             [a / b for a, b in taken], 1.5, most=True)


def page(run):
    """A page of branches after a save in one of them, of few branches and of many."""
    run.set_logging(True)
    files = []
    for count in (PAGE, MANY_BRANCHES):
        project = Project(f"paged-{count}", run.people.accounts[0])
        client = run.people.login(project.account)
        project.make(client)
        names = ["main"] + [f"release-{number:02}" for number in range(1, population.BRANCHES)]
        names += [f"topic-{number:04}" for number in range(count - len(names))]
        population.side_by_side(
            lambda part, names=names, project=project: more_branches(run, project, names, part),
            range(population.AT_ONCE))
        answer = client.ask("POST", f"{API}/tokens", {"name": "page", "repos": [project.repo_id]})
        headers = {"Host": population.HOST, "PRIVATE-TOKEN": answer.json()["tokenString"]}
        # All branches once, so that their digests are known.
        all_names = [each["name"] for each in
                     run.service.client().get(f"{project.read}/branches", headers=headers).json()]
        if all_names != names:
            raise SystemExit("the branches are not those that were made")
        files.append(page_file(run, project, names, client.headers["Cookie"], headers))
    taken = []
    for number in range(run.rounds + 1):
        taken.append(run.numbers(run.client(
            "pages", run.service.address, *files, f"page-{number}", PAGES_A_ROUND)))
    few, many = zip(*taken[1:])
    run.line("a page of 20 of 5,000 branches, after a save", milliseconds(many),
             f"of 20 branches {milliseconds(few)}", [b / a for a, b in taken[1:]], 1.5, most=True)


def more_branches(run, project, names, part):
    client = run.people.login(project.account)
    for name in names[population.BRANCHES + part::population.AT_ONCE]:
        client.ask("POST", f"{project.admin}/branches", {"name": name, "from": "main"})


def page_file(run, project, names, cookie, headers):
    """For each page, in an order that jumps: where to save, into a branch on it, and its head."""
    path = os.path.join(run.work, f"pages-of-{len(names)}")
    pages = len(names) // PAGE
    with open(path, "wb") as file:
        for number in range(pages):
            at = number * 107 % pages
            branch = names[at * PAGE + number % PAGE]
            file.write(f"{cookie}\t{project.admin}/branches/{branch}/files\0".encode())
            file.write(population.head(
                f"{project.read}/branches?per_page={PAGE}&page={at + 1}", headers))
    return path


def p99(run):
    """Polls at half the greatest rate, timed from when they were due, beside some saves. nginx is
    asked at the same rate, without saves."""
    run.set_logging(True)
    kind = population.KINDS["branches"]
    run.compare(kind)
    heads = run.people.heads(kind, run.service)
    if "branches" not in run.rates:
        run.rates["branches"] = statistics.median(
            run.wrk(run.service, heads).rate for _ in range(3))
    pace = run.rates["branches"] / 2
    targets = run.people.saving(run.people.saved)
    ours, theirs = [], []
    for number in range(run.rounds):
        saving = run.client("saves", run.service.address, targets, SAVES_BESIDE_POLLS, run.seconds)
        ours.append(polled(run, run.service, heads, pace, f"p99-{number}"))
        run.finish(saving)
        theirs.append(polled(run, run.nginx, heads, pace, f"p99-{number}"))
    run.line(f"p99 of {pace:,.0f} branch listings a second, {SAVES_BESIDE_POLLS} saves a second",
             milliseconds(ours), f"nginx, no saves {milliseconds(theirs)}",
             [time / 1000 for time in ours], 5, most=True, judged_in=" ms")


def polled(run, server, heads, pace, name):
    """The 99th percentile, in microseconds."""
    count, _, most, _ = run.numbers(run.client(
        "polls", server.address, heads, name, CONNECTIONS, pace, run.seconds))
    server.forget_log()
    if count < 0.95 * pace * run.seconds:
        raise SystemExit(f"only {count} polls in {run.seconds} s")
    return most


def held(run):
    """Connections that ask and stay, and then one more is answered."""
    run.set_logging(True)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < HELD + 100:
        run.say(f"held: left out, only {limit} files may be open")
        return
    kind = population.KINDS["raw"]
    run.compare(kind)
    heads = run.people.heads(kind, run.service)
    load = run.begin_wrk(run.service, heads, run.seconds, HELD)
    time.sleep(1)
    instance = run.people.instances[0]
    before = time.monotonic()
    run.service.client().get(kind.target(instance), headers=instance.headers())
    waited = (time.monotonic() - before) * 1000
    resident = run.service.memory_kib("VmRSS") / 1024
    run.wrk_result(run.service, load)
    run.line(f"resident with {HELD:,} connections that ask, another one answered",
             f"{waited:.0f} ms", "", [resident], None, judged_in=" MiB")


def upload(run):
    """Uploads of 1 GiB beside the MD5 of the same bytes on one core, and how memory grows."""
    run.set_logging(True)
    project = run.people.saved[0]
    client = run.people.login(project.account)
    project.make_branch(client, "uploads")
    path = os.path.join(run.work, "gibibyte")
    with open("/dev/urandom", "rb") as random, open(path, "wb") as file:
        for _ in range(1024):
            file.write(random.read(MIB))
    speeds, grown, took, floors = [], [], [], []
    for number in range(run.rounds):
        before = time.monotonic()
        md5 = subprocess.run(["md5sum", path], check=True, capture_output=True, text=True)
        floors.append(time.monotonic() - before)
        with open(f"/proc/{run.service.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        resident = run.service.memory_kib("VmRSS")
        before = time.monotonic()
        said = run.finish(run.begin([
            "curl", "-sf", "-H", f"Cookie: {client.headers['Cookie']}",
            "-H", "Content-Type: application/octet-stream", "-T", path,
            f"http://{run.service.address}{project.admin}/branches/uploads/files/gibibyte-{number}"]))
        took.append(time.monotonic() - before)
        if md5.stdout.split()[0] not in said:
            raise SystemExit(f"upload: {said}")
        speeds.append(floors[-1] / took[-1])
        grown.append((run.service.memory_kib("VmHWM") - resident) / 1024)
    os.remove(path)
    run.line("upload of 1 GiB, speed", f"{statistics.median(took):.2f} s",
             f"md5sum {statistics.median(floors):.2f} s", speeds, 0.8)
    run.line("the same, growth of memory", "", "", [max(grown)], 64, most=True, judged_in=" MiB")


def git(run):
    """One save in 10,000 files beside `git add` and `git commit`, both on the disk at their end."""
    run.set_logging(True)
    project = run.people.saved[0]
    client = run.people.login(project.account)
    project.make_branch(client, "many")
    folder = os.path.join(run.work, "repository")
    population.write_small_files(folder, GIT_FILES)
    run.service.command("import", project.repo_id, "many", folder)

    def command(*arguments):
        subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)

    command("init", "-q")
    for key, value in (("user.name", "bench"), ("user.email", "bench@localhost"),
                       ("core.fsync", "all")):
        command("config", key, value)
    command("add", ".")
    command("commit", "-qm", "all")
    changed = "folder-7/file-777.xml"
    saves, commits = [], []
    for turn in range(GIT_SAVES):
        content = f"turn {turn}\n".encode()
        before = time.monotonic()
        client.ask("PUT", f"{project.admin}/branches/many/files/{changed}", content)
        saves.append((time.monotonic() - before) * 1e6)
        with open(os.path.join(folder, changed), "wb") as file:
            file.write(content)
        before = time.monotonic()
        command("add", changed)
        command("commit", "-qm", f"turn {turn}")
        commits.append((time.monotonic() - before) * 1e6)
    run.line("one save in 10,000 files, times faster", milliseconds(saves),
             f"git {milliseconds(commits)}",
             [statistics.median(commits) / statistics.median(saves)], 20)


def memory(run):
    """Resident memory of a new service after many saves by several writers."""
    service = servers.Service(run.work, run.binary, "memory")
    run.servers.append(service)
    service.start("info")
    client = service.administrator()
    targets = os.path.join(run.work, "written")
    with open(targets, "w", encoding="utf-8") as file:
        for number in range(WRITERS):
            project = Project(f"written-{number}", "admin")
            project.make(client)
            file.write(f"{client.headers['Cookie']}\t{project.admin}/branches/main/files\n")
    done = 0
    for count in MEMORY_AFTER:
        before = time.monotonic()
        run.finish(run.client("writers", service.address, targets, WRITERS, count - done))
        pace = (count - done) / (time.monotonic() - before)
        done = count
        service.forget_log()
        run.line(f"resident after {count:,} saves by {WRITERS} writers", f"{pace:,.0f} saves/s", "",
                 [service.memory_kib("VmRSS") / 1024], 256, most=True, judged_in=" MiB")
    service.end()


ROWS = {row.__name__: row for row in (save, page, p99, held, upload, git, memory)}
