"""The service and nginx, started and ended for a run, and a small client for setting them up."""

import http.client
import json
import os
import re
import subprocess
import time

START_S = 20
# The service closes a connection that rests for 20 s.
REST_S = 10


class Answer:
    """A whole answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Client:
    """A kept connection. An answer other than those expected ends the run."""

    def __init__(self, address, headers=None):
        host, port = address.rsplit(":", 1)
        self.connection = http.client.HTTPConnection(host, int(port), timeout=120)
        self.headers = dict(headers or {})
        self.used = time.monotonic()

    def ask(self, method, path, body=None, headers=None, expected=(200, 201, 204)):
        headers = {**self.headers, **(headers or {})}
        if isinstance(body, (dict, list)):
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        elif body is not None:
            headers.setdefault("Content-Type", "application/octet-stream")
        if time.monotonic() - self.used > REST_S:
            self.connection.close()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        self.used = time.monotonic()
        if answer.status not in expected:
            raise SystemExit(f"{method} {path}: {answer.status} {content[:300]!r}")
        return Answer(answer.status, answer.headers, content)

    def get(self, path, **others):
        return self.ask("GET", path, **others)


def certificate(work):
    """A certificate and its key, made once a run: both servers show the same."""
    paths = [os.path.join(work, name) for name in ("cert.pem", "key.pem")]
    if not os.path.exists(paths[0]):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", "/CN=conf.example", "-days", "2", "-out", paths[0], "-keyout", paths[1]],
            check=True, capture_output=True)
    return paths


class Server:
    """A process that listens on loopback and logs into a file."""

    def __init__(self, work, name, log):
        self.name = name
        self.log = os.path.join(work, log)
        self.process = None
        self.address = None
        # Where it speaks TLS.
        self.tls_address = None

    def client(self, headers=None):
        return Client(self.address, headers)

    def cpu_s(self):
        """Seconds of processor time that it and its children took."""
        pids = [self.process.pid]
        with open(f"/proc/{pids[0]}/task/{pids[0]}/children", encoding="ascii") as children:
            pids += [int(pid) for pid in children.read().split()]
        ticks = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def forget_log(self):
        """Empties the log: what it grows to in a run must not fill the disk."""
        if os.path.exists(self.log):
            os.truncate(self.log, 0)

    def end(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class Service(Server):
    """The service under measurement, on a port of the system's choice."""

    def __init__(self, work, binary, name="siteconf", place=()):
        """The place is the flags that say where the store lies, if not in a folder of that name."""
        super().__init__(work, name, f"{name}.log")
        self.binary = binary
        self.work = work
        self.data = os.path.join(work, name)
        self.place = list(place) or ["--data", self.data]

    def start(self, level):
        out = self.log + ".out"
        cert, key = certificate(self.work)
        # All clients have one address here.
        environment = {**os.environ, "SITECONF_LOG": level, "SITECONF_CONNECTIONS_ADDRESS_MAX": "0"}
        with open(out, "wb") as stdout, open(self.log, "ab") as stderr:
            self.process = subprocess.Popen(
                [self.binary, "serve", *self.place, "--listen", "127.0.0.1:0",
                 "--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment)
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            with open(out, encoding="utf-8") as said:
                found = re.findall(r"^listening on https?://(\S+)\n", said.read(), re.M)
            if len(found) == 2:
                self.address, self.tls_address = found
                return
            time.sleep(0.02)
        with open(self.log, encoding="utf-8") as log:
            raise SystemExit(f"the service does not start:\n{log.read()[-2000:]}")

    def command(self, *arguments, given=None):
        """What a command beside the running service says."""
        done = subprocess.run(
            [self.binary, *arguments, *self.place], input=given, text=True,
            capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"siteconf {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def logged_in(self, name, password):
        """A client with a session."""
        client = self.client()
        answer = client.ask("POST", "/user/login", {"username": name, "password": password})
        client.headers["Cookie"] = answer.headers["Set-Cookie"].split(";")[0]
        return client

    def administrator(self):
        with open(os.path.join(self.data, "secrets", "initial-password"), encoding="utf-8") as file:
            return self.logged_in("admin", file.read().strip())

    def memory_kib(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"^{field}:\s+(\d+)", status.read(), re.M).group(1))


class Nginx(Server):
    """nginx over a folder in which the service's paths are files."""

    def __init__(self, work):
        super().__init__(work, "nginx", "nginx-access.log")
        self.work = work
        self.root = os.path.join(work, "files")
        os.makedirs(self.root)
        os.chmod(work, 0o755)

    def start(self, logging):
        conf = os.path.join(self.work, "nginx.conf")
        errors = os.path.join(self.work, "nginx.err")
        for attempt in range(20):
            port = 20000 + (os.getpid() * 7 + attempt * 613) % 12000
            self.address, self.tls_address = f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
            with open(conf, "w", encoding="utf-8") as file:
                file.write(self.settings(errors, self.log if logging else "off"))
            self.process = subprocess.Popen(
                ["nginx", "-c", conf, "-e", errors], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.answers():
                return
            self.end()
        with open(errors, encoding="utf-8") as file:
            raise SystemExit(f"nginx does not start:\n{file.read()[-2000:]}")

    def answers(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.client().get("/", expected=(200, 403, 404))
                return self.process.poll() is None
            except OSError:
                time.sleep(0.02)
        return False

    def settings(self, errors, log):
        cert, key = certificate(self.work)
        temporary = "".join(
            f"{kind}_temp_path {self.work};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""
daemon off;
worker_processes 2;
pid {self.work}/nginx.pid;
error_log {errors};
events {{ worker_connections 16384; }}
http {{
    access_log {log};
    sendfile on;
    tcp_nopush on;
    gzip_static on;
    gzip_vary on;
    keepalive_timeout 75;
    keepalive_requests 100000000;
    open_file_cache max=10000 inactive=60s;
    open_file_cache_valid 60s;
    default_type application/json;
    {temporary}
    server {{
        listen {self.address};
        listen {self.tls_address} ssl;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.2 TLSv1.3;
        root {self.root};
    }}
}}
"""
