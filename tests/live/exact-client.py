"""exact-client.py KIND ADDRESS CONNECTIONS: a client that knows every byte of the answers.

Each connection, in a thread of its own, sends requests that differ in a sequence number, the length of the answer, its
content, and the milliseconds after which it is due.  An error is: a wrong byte, a connection that is closed or refused,
an answer that is due later, and one that has not come within 2 s.  These 2 s are at least 200 answers of a control
process, which is asked every 10 ms and makes some work for each, so that a loaded machine is no error.  After an error
there is a new connection.  ADDRESS is the path of a socket.

Prints "ready" after the first answer to each connection, and before that what the test needs.  At the line "end" on its
stdin it ends, and prints one line of JSON: requests, errors, how many of them were late, the slowest answer, and the
first errors.  Its connections stay open until its stdin closes.
"""
import gzip
import hashlib
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

CONTROL = "import sys\nfor line in sys.stdin: print(sum(range(20000)), flush=True)"
kind, address, nr_connections = sys.argv[1], sys.argv[2], int(sys.argv[3])
total = {"requests": 0, "errors": 0, "late": 0, "slowest_ms": 0, "said": []}
lock = threading.Lock()
ended = threading.Event()


class Wrong(Exception):
    pass


class Late(Wrong):
    pass


def must(ok, what):
    if not ok:
        raise Wrong(what)


def content(seq, seed, length):
    return (b"%d:%d " % (seq, seed) * length)[:length]


class Patience:
    """2 s, in answers of the control process."""

    def __init__(self):
        self.left = 200
        self.control = None

    def wait(self, fd):
        while not select.select([fd], [], [], 0.01)[0]:
            if not self.control:
                self.control = subprocess.Popen([sys.executable, "-c", CONTROL], stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE)
            self.control.stdin.write(b"\n")
            self.control.stdin.flush()
            self.control.stdout.readline()
            self.left -= 1
            if self.left == 0:
                raise Late("no answer within 2 s")

    def again(self):
        self.left = 200


class Stream:
    """Reads from a descriptor with patience."""

    def __init__(self, patience, fd):
        self.patience = patience
        self.fd = fd
        self.got = b""

    def more(self):
        self.patience.wait(self.fd)
        got = os.read(self.fd, 65536)
        must(got, "the connection was closed")
        self.got += got

    def exactly(self, n):
        while len(self.got) < n:
            self.more()
        taken, self.got = self.got[:n], self.got[n:]
        return taken

    def until(self, end):
        while end not in self.got:
            self.more()
        return self.exactly(self.got.index(end) + len(end))

    def nothing_more(self):
        must(not self.got, "more than the answer: %r" % self.got[:80])


class Unix:
    """A connection to the socket; subclasses know the protocol."""

    def __init__(self, patience):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(300)
        self.s.connect(address)
        self.stream = Stream(patience, self.s.fileno())

    def close(self):
        self.s.close()


class Lines(Unix):
    def request(self, seq, length, seed, ms):
        self.s.sendall(b"%d %d %d %d\n" % (seq, length, seed, ms))
        head = self.stream.until(b"\n")
        must(head == b"%d %d\n" % (seq, length), "answer %r to request %d" % (head, seq))
        must(self.stream.exactly(length + 1) == content(seq, seed, length) + b"\n", "another content")
        self.stream.nothing_more()


class Http(Unix):
    """Content and sequence number are in the query."""

    def target(self, seq, length, seed, ms):
        return "/?%d&%d&%d&%d" % (seq, length, seed, ms), content(seq, seed, length)

    def request(self, seq, length, seed, ms):
        target, expected = self.target(seq, length, seed, ms)
        packed = b"Accept-Encoding: gzip\r\n" if seq % 2 else b""
        self.s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (target.encode(), packed))
        status, *lines = self.stream.until(b"\r\n\r\n").decode().lower().split("\r\n")
        head = dict(line.split(": ", 1) for line in lines if line)
        must(status == "http/1.1 200 ok", status)
        must(head["x-seq"] == str(seq), "answer %s to request %d" % (head["x-seq"], seq))
        if head.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.stream.until(b"\r\n"), 16):
                body += self.stream.exactly(size + 2)[:-2]
            self.stream.until(b"\r\n")
        else:
            body = self.stream.exactly(int(head["content-length"]))
        if head.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        must(body == expected, "another content")
        self.stream.nothing_more()


class Files(Http):
    """The numbers N of 0 to 49 have a file each, "N:N " again and again, 2000 * N bytes; /slow/ sends in portions."""

    def target(self, seq, length, seed, ms):
        n = seed % 50
        return "/%s%d?%d" % ("slow/" if ms else "", n, seq), content(n, n, 2000 * n)


class Php:
    """A connection to a FastCGI server for each request."""

    def __init__(self, patience):
        self.patience = patience

    def close(self):
        pass

    @staticmethod
    def record(of_type, data):
        return struct.pack(">BBHHBB", 1, of_type, 1, len(data), 0, 0) + data

    def request(self, seq, length, seed, ms):
        query = "seq=%d&length=%d&seed=%d&ms=%d" % (seq, length, seed, ms)
        page = os.path.dirname(address) + "/page.php"
        pairs = {"SCRIPT_FILENAME": page, "QUERY_STRING": query, "REQUEST_METHOD": "GET"}
        parameters = b"".join(struct.pack(">BB", len(k), len(v)) + k.encode() + v.encode() for k, v in pairs.items())
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(300)
            s.connect(address)
            s.sendall(self.record(1, struct.pack(">HB5x", 1, 0)) + self.record(4, parameters) + self.record(4, b"") +
                      self.record(5, b""))
            stream = Stream(self.patience, s.fileno())
            output = b""
            while True:
                _, of_type, _, size, padding, _ = struct.unpack(">BBHHBB", stream.exactly(8))
                data = stream.exactly(size + padding)[:size]
                must(of_type in (3, 6), "stderr: %r" % data)
                if of_type == 3:
                    break
                output += data
        must(data[:5] == bytes(5), "end of the request: %r" % data)
        head, _, body = output.partition(b"\r\n\r\n")
        must(b"X-Seq: %d" % seq in head.split(b"\r\n"), "another answer than to request %d: %r" % (seq, head))
        must(body == content(seq, seed, length), "another content")


class Psql:
    """A session of psql; says which process serves it."""

    def __init__(self, patience):
        self.p = subprocess.Popen(["psql", "-XqAt", "-h", address, "-U", "tester", "postgres"], bufsize=0,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.stream = Stream(patience, self.p.stdout.fileno())
        print("backend", int(self.ask("select pg_backend_pid();")), flush=True)
        self.ask("create temp table t (n int); select 'created';")
        self.nr = 0

    def ask(self, sql):
        self.p.stdin.write(sql.encode() + b"\n")
        return self.stream.until(b"\n").decode().strip()

    def request(self, seq, length, seed, ms):
        text = "'%d:%d '" % (seq, seed)
        answer = self.ask("insert into t values (%d); select '%d:' || length(s) || ':' || md5(s) || ':' || "
                          "(select count(*) from t) from (select left(repeat(%s, %d), %d), pg_sleep(%f)) as x (s, w);" %
                          (seq, seq, text, length, length, ms / 1000))
        self.nr += 1
        expected = "%d:%d:%s:%d" % (seq, length, hashlib.md5(content(seq, seed, length)).hexdigest(), self.nr)
        must(answer == expected, "answer %r, not %r" % (answer, expected))

    def close(self):
        self.p.kill()
        self.p.wait()


def note_error(error):
    if ended.is_set():
        return
    with lock:
        total["errors"] += 1
        total["late"] += isinstance(error, Late)
        if len(total["said"]) < 5:
            total["said"].append("%s: %s" % (type(error).__name__, error))


def make_requests(nr, made):
    chance = random.Random(nr)
    patience = Patience()
    connection = None
    seq = nr
    while not ended.is_set():
        seq += nr_connections
        ms = chance.choice((0, 0, 0, 0, 0, 20, 50, 100))
        patience.again()
        try:
            connection = connection or made(patience)
            began = time.monotonic()
            connection.request(seq, chance.randrange(1, 40000), chance.randrange(1, 1000), ms)
            took_ms = (time.monotonic() - began) * 1000
            # Runtimes round to milliseconds, and portions have no such time.
            must(made is Files or took_ms > ms - 2, "an answer due after %d ms came after %.1f" % (ms, took_ms))
            with lock:
                total["requests"] += 1
                total["slowest_ms"] = max(total["slowest_ms"], round(took_ms))
            answered[nr].set()
        except (OSError, ValueError, KeyError, EOFError, zlib.error, Wrong) as e:
            note_error(e)
            if connection and not ended.is_set():
                connection.close()
                connection = None
            ended.wait(0.1)
        # A long pause is one in which the server has nothing to do but its own timers.
        ended.wait(chance.choice((0, 0.001, 0.005, 0.01, 0.02, 0.02, 0.05, 0.3)))


made = {"lines": Lines, "http": Http, "files": Files, "php": Php, "psql": Psql}[kind]
answered = [threading.Event() for _ in range(nr_connections)]
threads = [threading.Thread(target=make_requests, args=(nr, made), daemon=True) for nr in range(nr_connections)]
for t in threads:
    t.start()
for e in answered:
    while not e.wait(1):
        if total["errors"] > 100:
            sys.exit(json.dumps(total))
print("ready", flush=True)
sys.stdin.readline()
ended.set()
for t in threads:
    t.join(30)
print(json.dumps(total), flush=True)
sys.stdin.read()
