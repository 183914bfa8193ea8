"""The population that asks: accounts, their projects of twenty branches, and a token and an instance
for each client. What the service answers is laid out as files for nginx, under the same paths."""

import concurrent.futures
import gzip
import hashlib
import io
import os
import random
import tarfile
import urllib.parse
import uuid

ACCOUNTS = 50
PROJECTS = 100
TOKENS = 10_000
BRANCHES = 20
FILES = 1000
OWN_FILES = 10
SAVED = 10
AT_ONCE = 8
FILE_BYTES = 4096
LARGE_BYTES = 262_144

API = "/site-builder/api"
PASSWORD = "benches-only-loopback"
LARGE_BRANCH = "release-01"
# Both are asked under one name: the service's answers name it.
HOST = "conf.example"


def text_of(title, size):
    line = f"{title} configuration ".encode()
    return (line * (size // len(line) + 1))[:size]


def file_path(number):
    return f"folder-{number // 100}/file-{number}.xml"


def quoted(text):
    return urllib.parse.quote(text, safe="")


def side_by_side(work, items):
    """Does the work for each item, on a few threads, and hands on the first failure."""
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    try:
        for done in [pool.submit(work, item) for item in items]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def head(target, headers):
    """A request head that lacks its last line, ended by NUL."""
    headers = {"User-Agent": "erp-client/8.3", "Accept": "*/*", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {target} HTTP/1.1\r\n{lines}\0".encode()


def write_small_files(folder, count):
    """Files of a few bytes, each other ones, a hundred in a folder."""
    for number in range(count):
        path = os.path.join(folder, file_path(number))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"file {number}\n")


class Project:
    """A project with its thousand files, ten of which no other project has."""

    def __init__(self, name, account):
        self.account = account
        self.repo_id = f"{name}.erp"
        self.read = f"{API}/erp-config/projects/{self.repo_id}/repository"
        self.admin = f"{API}/projects/{self.repo_id}"

    def own_file(self, number):
        """The path and the bytes of one of its own files, spread over the folders."""
        number = number % OWN_FILES * 107 % FILES
        return file_path(number), text_of(f"{self.repo_id} file {number}", FILE_BYTES)

    def raw(self, path):
        return f"{self.read}/files/{quoted(path)}/raw"

    def make(self, client, large_bytes=FILE_BYTES):
        client.ask("POST", f"{API}/projects", {"name": self.repo_id[:-4], "type": "erp"})
        self.make_branch(client, "main")
        client.ask("POST", f"{self.admin}/branches/main/batch", self.archive(),
                   {"Content-Type": "application/x-tar"})
        for number in range(1, BRANCHES):
            branch = f"release-{number:02}"
            client.ask("POST", f"{self.admin}/branches", {"name": branch, "from": "main"})
            content = text_of(f"{self.repo_id} {branch}", FILE_BYTES)
            client.ask("PUT", f"{self.admin}/branches/{branch}/files/branch.xml", content)
        client.ask("PUT", f"{self.admin}/branches/{LARGE_BRANCH}/files/large.xml",
                   text_of("large", large_bytes))

    def make_branch(self, client, name):
        client.ask("POST", f"{self.admin}/branches", {"name": name})

    def archive(self):
        own = dict(self.own_file(number) for number in range(OWN_FILES))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for number in range(FILES):
                path = file_path(number)
                content = own.get(path) or text_of(f"file {number}", FILE_BYTES)
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return packed.getvalue()


class Instance:
    """A client: one token, one instance id, one project, one file of it that it reads."""

    def __init__(self, number, project, token):
        self.project = project
        self.token = token
        self.id = str(uuid.UUID(bytes=hashlib.md5(str(number).encode()).digest()))
        self.path = project.own_file(number // PROJECTS)[0]

    def headers(self):
        return {"Host": HOST, "PRIVATE-TOKEN": self.token, "X-Instance-Id": self.id}


class Kind:
    """A kind of request: where it goes, with which headers, and in which file nginx has it."""

    def __init__(self, name, target, compressed=False, conditional=False):
        self.name = name
        self.target = target
        self.headers = {"Accept-Encoding": "gzip"} if compressed else {}
        self.conditional = conditional


KINDS = {kind.name: kind for kind in (
    Kind("branches", lambda i: f"{i.project.read}/branches", compressed=True),
    Kind("branches-plain", lambda i: f"{i.project.read}/branches"),
    Kind("raw", lambda i: i.project.raw(i.path)),
    Kind("304", lambda i: i.project.raw(i.path), conditional=True),
    Kind("tree", lambda i: f"{i.project.read}/tree?recursive=1", compressed=True),
    Kind("raw-256k", lambda i: f"{i.project.raw('large.xml')}?ref={LARGE_BRANCH}"),
)}


class Population:
    """All of it, in a service that has just been started for the first time."""

    def __init__(self, service, work, large_bytes=LARGE_BYTES):
        self.service = service
        self.large_bytes = large_bytes
        self.work = work
        self.accounts = [f"account-{number}" for number in range(ACCOUNTS)]
        self.projects = [Project(f"shop-{number:03}", self.accounts[number % ACCOUNTS])
                         for number in range(PROJECTS)]
        # Of the same accounts, but saved to while the others are read.
        self.saved = [Project(f"saved-{number:03}", self.accounts[number])
                      for number in range(SAVED)]
        self.instances = [None] * TOKENS
        self.tags = {}
        self.body_bytes = {}

    def make(self):
        for name in self.accounts:
            self.service.command("user", "add", name, "--password-stdin", given=PASSWORD + "\n")
        side_by_side(self.make_account, range(ACCOUNTS))
        random.Random(1).shuffle(self.instances)
        self.bind()

    def login(self, name):
        return self.service.logged_in(name, PASSWORD)

    def make_account(self, account):
        name = self.accounts[account]
        client = self.login(name)
        for project in self.projects + self.saved:
            if project.account == name:
                project.make(client, self.large_bytes)
        for number in range(account, TOKENS, ACCOUNTS):
            project = self.projects[number % PROJECTS]
            answer = client.ask("POST", f"{API}/tokens", {
                "name": f"instance {number}", "repos": [project.repo_id],
                "fingerprint_required": True})
            self.instances[number] = Instance(number, project, answer.json()["tokenString"])

    def saving(self, projects, branches=("main",)):
        """A file that says where the client saves: into these branches of these projects."""
        path = os.path.join(self.work, f"saving-{self.service.name}-{len(branches)}")
        with open(path, "w", encoding="utf-8") as file:
            cookies = {project: self.login(project.account).headers["Cookie"] for project in projects}
            for branch in branches:
                for project, cookie in cookies.items():
                    file.write(f"{cookie}\t{project.admin}/branches/{branch}/files\n")
        return path

    def bind(self):
        """Each token's first request, which binds it to its instance."""
        def some(start):
            client = self.service.client()
            for instance in self.instances[start::AT_ONCE]:
                client.get(f"{API}/erp-config/user", headers=instance.headers())
        side_by_side(some, range(AT_ONCE))

    def askers(self, kind):
        """One instance for each target of a kind of request."""
        return {kind.target(instance): instance for instance in self.instances}

    def lay_out(self, nginx):
        """Lays what the service answers where nginx finds it, the JSON also compressed."""
        client = self.service.client()
        for kind in KINDS.values():
            for target, instance in self.askers(kind).items():
                path = nginx.root + urllib.parse.unquote(target.partition("?")[0])
                if os.path.exists(path):
                    continue
                os.makedirs(os.path.dirname(path), exist_ok=True)
                body = client.get(target, headers=instance.headers()).body
                with open(path, "wb") as file:
                    file.write(body)
                if kind.headers:
                    with open(path + ".gz", "wb") as file:
                        file.write(gzip.compress(body, 6))

    def compare(self, kind, nginx):
        """Both must answer the same bytes. Takes note of the tags and the lengths on the way."""
        ours, theirs = self.service.client(), nginx.client()
        lengths = {self.service.name: [], nginx.name: []}
        for target, instance in self.askers(kind).items():
            headers = {**instance.headers(), **kind.headers}
            bodies = []
            for server, client in ((self.service, ours), (nginx, theirs)):
                answer = client.get(target, headers=headers, expected=(200,))
                packed = answer.headers.get("Content-Encoding") == "gzip"
                if packed != bool(kind.headers):
                    raise SystemExit(f"{server.name} {target}: compressed: {packed}")
                bodies.append(gzip.decompress(answer.body) if packed else answer.body)
                if kind.conditional:
                    self.tags[server.name, target] = tag = answer.headers["ETag"]
                    answer = client.get(target, headers={**headers, "If-None-Match": tag},
                                        expected=(304,))
                lengths[server.name].append(len(answer.body))
            if bodies[0] != bodies[1]:
                raise SystemExit(f"{target}: nginx serves other bytes than the service")
        for name, each in lengths.items():
            self.body_bytes[kind.name, name] = sum(each) / len(each)

    def take_tags(self, kind):
        """Takes note of the tags, where a kind of request is conditional."""
        client = self.service.client()
        for target, instance in self.askers(kind).items() if kind.conditional else ():
            answer = client.get(target, headers={**instance.headers(), **kind.headers})
            self.tags[self.service.name, target] = answer.headers["ETag"]

    def heads(self, kind, server):
        """A file of the request heads of all instances. Both servers are sent the same, but for the
        tag in a conditional request, which is the server's own."""
        path = os.path.join(self.work, f"heads-{kind.name}-{server.name}")
        with open(path, "wb") as file:
            for instance in self.instances:
                target = kind.target(instance)
                headers = dict(kind.headers)
                if kind.conditional:
                    headers["If-None-Match"] = self.tags[server.name, target]
                file.write(head(target, {**instance.headers(), **headers}))
        return path
