"""client.py [--idle] KIND ADDRESS [ARGUMENT]: a client of a server that is looked at.

Makes requests, one after the other, checks every answer, and in a second thread waits for the
server's timer again and again; with --idle there is one request, and then timers only, so that nothing
else wakes the server.  ADDRESS is a port of 127.0.0.1 or the path of a socket.  Says "ready"
after the first answer.  At the line "end" on its stdin it stops, and says in one line of JSON how many
requests were made and how many failed, which took longest, how often the timer fired and how late it
was at most.  Its connection stays open until its stdin closes.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

is_idle = sys.argv[1] == "--idle"
if is_idle:
    del sys.argv[1]
kind, address = sys.argv[1:3]
argument = sys.argv[3] if len(sys.argv) > 3 else ""
total = {"requests": 0, "errors": 0, "slowest_ms": 0, "timers": 0, "latest_ms": 0, "said": ""}
ended = threading.Event()


class Wrong(Exception):
    pass


def connect(seconds=60):
    if address.isdigit():
        return socket.create_connection(("127.0.0.1", int(address)), seconds)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(seconds)
    s.connect(address)
    return s


def must(ok, what):
    if not ok:
        raise Wrong(what)


def ask(s, what, end):
    """Send WHAT, and read until END."""
    s.sendall(what)
    got = b""
    while end not in got:
        more = s.recv(65536)
        must(more, "the connection was closed")
        got += more
    return got


def closes(first, end, seconds):
    """How late a server closes a connection that is idle after FIRST, which ends with END."""
    s = connect(20 * seconds)
    if first:
        ask(s, first, end)
    began = time.monotonic()
    try:
        must(not s.recv(1), "data where the end was due")
    except socket.timeout:
        raise Wrong("an idle connection was not closed") from None
    return time.monotonic() - began - seconds


GET = b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n"


class Http:
    """A page that ends with PAGE; idle connections are closed after 3 s."""

    def __init__(self):
        self.s = connect()

    def request(self):
        must(b"200 OK" in ask(self.s, GET, b"PAGE\n"), "not 200")

    def timer(self):
        return closes(GET, b"PAGE\n", 3)


class Php:
    """One connection a request; the page sleeps 300 ms."""

    def request(self):
        s = connect()
        began = time.monotonic()
        must(b"200 OK" in ask(s, GET.replace(b"1.1", b"1.0"), b"PAGE\n"), "not 200")
        late = time.monotonic() - began - 0.3
        must(late > -0.01, "the page did not sleep")
        note_timer(late)

    timer = None


class Memcached:
    """A key of 2 s is gone after them."""

    def __init__(self):
        self.s = connect()
        self.waiting = connect()
        self.n = 0

    def request(self):
        self.n += 1
        value = b"%d" % self.n
        stored = ask(self.s, b"set key 0 0 %d\r\n%s\r\n" % (len(value), value), b"\r\n")
        must(stored == b"STORED\r\n", "not stored")
        must(value in ask(self.s, b"get key\r\n", b"END\r\n"), "another value")

    def timer(self):
        s = self.waiting  # a new connection would wake the thread that has the clock
        ask(s, b"set old 0 2 1\r\nx\r\n", b"\r\n")
        began = time.monotonic()
        while b"VALUE" in ask(s, b"get old\r\n", b"END\r\n"):
            must(time.monotonic() - began < 40, "a key did not expire")
            time.sleep(0.2)
        return time.monotonic() - began - 2


class Lines:
    """Answers each line with OK and the line; idle connections are closed after 3 s."""

    def __init__(self):
        self.s = connect()
        self.n = 0

    def request(self):
        self.n += 1
        line = b"line %d\n" % self.n
        must(ask(self.s, line, b"\n") == b"OK " + line, "another answer")

    def timer(self):
        return closes(b"hello\n", b"\n", 3)


class Psql:
    """A session of psql on the socket directory ADDRESS; sleeps of 300 ms."""

    def __init__(self):
        self.p = subprocess.Popen(
            ["psql", "-XqAt", "-h", address, "-U", "tester", "postgres"], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0
        print("backend", self.ask("select pg_backend_pid();"), flush=True)

    def ask(self, sql):
        self.p.stdin.write(sql + "\n")
        return self.p.stdout.readline().strip()

    def request(self):
        self.n += 1
        must(self.ask("select count(*) + %d from generate_series(1, 2000);" % self.n) ==
             str(2000 + self.n), "another answer")
        began = time.monotonic()
        must(self.ask("select 'slept' from pg_sleep(0.3);") == "slept", "no sleep")
        late = time.monotonic() - began - 0.3
        must(late > -0.01, "too short a sleep")
        note_timer(late)

    timer = None


class Ssh:
    """A session for each command, with the key ARGUMENT; 10 s to log in."""

    def __init__(self):
        self.n = 0

    def request(self):
        self.n += 1
        p = subprocess.run(
            ["ssh", "-F", "none", "-i", argument, "-o", "StrictHostKeyChecking=no",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
             "-p", address, "127.0.0.1", "echo", str(self.n)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        must(p.stdout == "%d\n" % self.n, "exit status %d: %s" % (p.returncode, p.stderr.strip()))

    def timer(self):
        s = connect(60)
        began = time.monotonic()
        while True:
            try:
                if not s.recv(1000):
                    break
            except ConnectionResetError:
                break
        return time.monotonic() - began - 10


class Dns:
    """The address of www.example.test is 192.0.2.1."""

    def __init__(self):
        self.n = 0
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.settimeout(20)
        self.s.connect(("127.0.0.1", int(address)))

    def request(self):
        self.n = (self.n + 1) % 65536
        name = b"".join(bytes([len(w)]) + w for w in (b"www", b"example", b"test")) + b"\0"
        self.s.send(struct.pack(">6H", self.n, 0, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1))
        answer = self.s.recv(4096)
        must(struct.unpack(">H", answer[:2])[0] == self.n and answer[-4:] == bytes([192, 0, 2, 1]),
             "another answer")

    timer = None


class Syslog:
    """Each line comes to the file ARGUMENT."""

    def __init__(self):
        self.s = connect()
        self.n = 0
        self.f = None

    def request(self):
        self.n += 1
        self.s.sendall(b"<13>Jan  1 00:00:00 host test: line-%d\n" % self.n)
        while self.f is None:
            if os.path.exists(argument):
                self.f = open(argument)
            else:
                time.sleep(0.001)
        began = time.monotonic()
        while True:
            line = self.f.readline()
            if line:
                must("line-%d\n" % self.n in line, "lost, or in another order: " + line)
                return
            else:
                must(time.monotonic() - began < 40, "a line did not arrive")
                time.sleep(0.001)

    timer = None


def note_timer(late):
    total["timers"] += 1
    total["latest_ms"] = max(total["latest_ms"], round(late * 1000))


def note_error(e):
    if not ended.is_set():
        total["errors"] += 1
        total["said"] = "%s: %s" % (type(e).__name__, e)
        ended.wait(0.1)


def wait_for_timers(client):
    while not ended.is_set():
        try:
            note_timer(client.timer())
        except (OSError, Wrong) as e:
            note_error(e)


def make_requests(client):
    while not ended.is_set():
        began = time.monotonic()
        try:
            client.request()
        except (OSError, Wrong) as e:
            note_error(e)
        total["slowest_ms"] = max(total["slowest_ms"], round((time.monotonic() - began) * 1000))
        total["requests"] += 1
        if total["requests"] == 1:
            print("ready", flush=True)
        ended.wait(None if is_idle else 0.01)


made = {"http": Http, "php": Php, "memcached": Memcached, "lines": Lines, "psql": Psql, "ssh": Ssh,
        "dns": Dns, "syslog": Syslog}[kind]()
threads = [threading.Thread(target=make_requests, args=(made,), daemon=True)]
if made.timer:
    threads.append(threading.Thread(target=wait_for_timers, args=(made,), daemon=True))
for t in threads:
    t.start()
sys.stdin.readline()
ended.set()
threads[0].join(30)
print(json.dumps(total), flush=True)
sys.stdin.read()
