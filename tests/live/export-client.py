#!/usr/bin/env python3
"""A client of memdiag export, well-behaved and not.

export-client.py get ADDRESS PATH [HEADER...]    the body; the status and headers go to standard error
export-client.py adds-up ADDRESS GROUP PID...    whether the bytes of the group are those of smaps_rollup
export-client.py slow ADDRESS NR SECONDS         NR connections that send a byte now and then: all must be closed
export-client.py crowd ADDRESS NR                NR connections at once, each with a request: all must be answered
export-client.py busy ADDRESS PATH NR MOST       of NR requests that take long all but MOST are refused at once, with 429
export-client.py hostile ADDRESS                 requests that are not, each on a connection of its own
export-client.py parse                           whether standard input is a document of metrics
export-client.py pass COMMAND...                 run it with a listening socket as systemd passes one; prints its port

ADDRESS is HOST:PORT or unix:PATH.  The exit status is 0 if so.
"""
import os
import re
import socket
import sys
import time


def connect(address):
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(120)
        s.connect(address[5:])
    else:
        host, port = address.rsplit(":", 1)
        s = socket.create_connection((host, int(port)), 120)
    return s


def receive(s):
    parts = []
    try:
        while True:
            part = s.recv(65536)
            if not part:
                break
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def request(address, data):
    s = connect(address)
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all of it was sent
    answer = receive(s)
    s.close()
    return answer


def get(address, path, headers=(), method="GET"):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
    head, _, body = request(address, "\r\n".join(lines).encode("latin-1")).partition(b"\r\n\r\n")
    head = head.decode()
    return int(head.split()[1]), head, body


def samples(text):
    """Each sample as (name, {label: value}, number); fails if a line is not of the format."""
    label = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"'
    line_format = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:%s)(?:,(?:%s))*)\})? ([0-9.e+-]+|NaN|[+-]Inf)' % (label, label))
    typed, seen = set(), set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
            continue
        if line.startswith("#"):
            continue
        m = line_format.fullmatch(line)
        assert m, f"not a sample: {line!r}"
        name = m[1]
        assert name in typed or name.removesuffix("_total") in typed, f"no type: {name}"
        labels = {k: re.sub(r"\\(.)", lambda c: {"n": "\n"}.get(c[1], c[1]), v) for k, v in re.findall(label, m[2] or "")}
        key = (name, tuple(sorted(labels.items())))
        assert key not in seen, f"twice: {line!r}"
        seen.add(key)
        yield name, labels, float(m[m.lastindex])


def field(pid, name):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) * 1024 for line in f if line.startswith(name + ":"))


def adds_up(address, group, *pids):
    status, _, body = get(address, "/metrics")
    assert status == 200, status
    all_samples = list(samples(body.decode()))
    for metric, name in (("memdiag_resident_bytes", "Rss"), ("memdiag_swapped_bytes", "Swap")):
        exported = sum(v for n, labels, v in all_samples if n == metric and labels["group"] == group)
        real = sum(field(pid, name) for pid in pids)
        assert exported == real, f"{metric} is {exported:.0f}, {name} is {real}"
    processes = [v for n, labels, v in all_samples if n == "memdiag_processes" and labels["group"] == group]
    assert processes == [len(pids)], processes


def slow(address, nr, seconds):
    sockets = [connect(address) for _ in range(int(nr))]
    for s in sockets:
        s.sendall(b"GET /metrics HTTP/1.1\r\n")
        s.setblocking(False)
    end = time.monotonic() + float(seconds)
    while sockets:
        assert time.monotonic() < end, f"{len(sockets)} connections are still open"
        for s in list(sockets):
            try:
                if not s.recv(100):
                    sockets.remove(s)
                    continue
            except BlockingIOError:
                pass
            except ConnectionResetError:
                sockets.remove(s)
                continue
            try:
                s.send(b"X")  # one byte of a header
            except (BrokenPipeError, ConnectionResetError):
                sockets.remove(s)
            except BlockingIOError:
                pass
        time.sleep(0.1)


def crowd(address, nr):
    sockets = []
    for _ in range(int(nr)):
        s = connect(address)
        s.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        sockets.append(s)
    answers = [receive(s) for s in sockets]
    bad = [a for a in answers if not a.startswith(b"HTTP/1.1 200")]
    assert not bad, f"{len(bad)} of {nr} were not answered: {bad[0][:100]!r}"


def busy(address, path, nr, most):
    sockets = []
    for _ in range(int(nr)):
        s = connect(address)
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        sockets.append(s)
    statuses = sorted(int(receive(s).split()[1]) for s in sockets)
    assert statuses == [200] * int(most) + [429] * (int(nr) - int(most)), statuses


def hostile(address):
    expected = {
        "a header of 1 MiB": (b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: " + b"a" * (1 << 20) + b"\r\n\r\n", (431, 413, 0)),
        "a path of 1 MiB": (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: x\r\n\r\n", (414, 431, 0)),
        "10,000 headers": (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10000 + b"\r\n", (431, 413, 0)),
        "an unknown method": (b"FROB /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (405,)),
        "DELETE": (b"DELETE /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (405,)),
        "POST": (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", (405,)),
        "a huge body": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + b"a" * (1 << 20), (405, 413, 0)),
        "an unknown path": (b"GET /etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (404,)),
        "a path with dots": (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (404, 400)),
        "a path with NUL": (b"GET /metr%00ics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (404, 400)),
        "no Host": (b"GET /metrics HTTP/1.1\r\n\r\n", (200, 400)),
        "HTTP/0.9": (b"GET /metrics\r\n\r\n", (400, 505, 0)),
        "another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n", (400, 0)),
        "nothing but line ends": (b"\r\n" * 1000, (400, 0)),
        "a query without end": (b"GET /metrics?" + b"a=b&" * 3000 + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (200, 414, 431, 0)),
    }
    for name, (data, statuses) in expected.items():
        s = connect(address)
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = receive(s)
        s.close()
        status = int(answer.split()[1]) if answer.startswith(b"HTTP/") else 0
        assert status in statuses, f"{name}: status {status}, not one of {statuses}"
        assert get(address, "/-/healthy")[0] == 200, f"after {name}"


def pass_socket(*command):
    s = socket.create_server(("127.0.0.1", 0))
    print(s.getsockname()[1], flush=True)
    os.dup2(s.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.execv(command[0], command)


def main():
    verb, *arguments = sys.argv[1:]
    if verb == "get":
        status, head, body = get(arguments[0], arguments[1], arguments[2:])
        print(head, file=sys.stderr)
        sys.stdout.buffer.write(body)
        return 0 if status == 200 else 1
    if verb == "parse":
        assert list(samples(sys.stdin.read()))
        return 0
    verbs = {"adds-up": adds_up, "slow": slow, "crowd": crowd, "busy": busy, "hostile": hostile, "pass": pass_socket}
    verbs[verb](*arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
