"""A server that takes profiles as Pyroscope or Parca does, and keeps them.

push-server.py DIR ANSWER...	writes its port to DIR/port; the first request gets the first ANSWER, and so on; all others
				the last one.  Each request is a file DIR/N.json: {"path", "query", "headers", "type",
				"answer", "profile": base64, "config", "labels"}.

ANSWER: a status ("200", "503", "302:URL"), "close" (in the middle of the answer), "hang", "cut" (without an answer).
push-server.py sums DIR		adds up the accepted profiles: "STACK VALUE VALUE VALUE VALUE", of inuse_* the last
push-server.py totals PPROF	the same of a file
push-server.py check DIR	whether all that was received is what the protocol wants
"""
import base64
import email.parser
import email.policy
import glob
import http.server
import json
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pprof

USUAL = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


def multipart(content_type, body):
    """The parts by name, read by Python's parser of mail."""
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in message.iter_parts()}


def decode(path, content_type, body):
    if path.endswith("/profiles/writeraw"):
        document = json.loads(body)
        (series,) = document["series"]
        return {"profile": series["samples"][0]["rawProfile"],
                "labels": {p["name"]: p["value"] for p in series["labels"]["labels"]}}
    parts = multipart(content_type, body)
    return {"profile": base64.b64encode(parts["profile"]).decode(), "config": json.loads(parts["sample_type_config"])}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    nr = 0
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with Handler.lock:
            number = Handler.nr
            Handler.nr += 1
        answer = answers[min(number, len(answers) - 1)]
        url = urllib.parse.urlsplit(self.path)
        seen = {"path": url.path, "query": dict(urllib.parse.parse_qsl(url.query, strict_parsing=bool(url.query))),
                "headers": dict(self.headers), "type": self.headers["Content-Type"], "answer": answer}
        seen.update(decode(url.path, self.headers["Content-Type"], body))
        with open("%s/%04d.new" % (directory, number), "w") as f:
            json.dump(seen, f)
        os.rename("%s/%04d.new" % (directory, number), "%s/%04d.json" % (directory, number))
        self.answer(answer)

    def answer(self, answer):
        if answer == "hang":
            threading.Event().wait()
        if answer in ("cut", "close"):
            if answer == "close":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
            return
        status, _, where = answer.partition(":")
        text = b"\x1b[31mthe answer\r\non two lines" if status != "200" else b""
        self.send_response(int(status))
        if where:
            self.send_header("Location", where)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


def received(directory):
    for path in sorted(glob.glob(directory + "/[0-9]*.json")):
        with open(path) as f:
            seen = json.load(f)
        yield path, seen, pprof.read(base64.b64decode(seen["profile"]))


def sums(directory):
    total, nr = {}, 0
    for _, seen, profile in received(directory):
        if seen["answer"] != "200":
            continue
        nr += 1
        stacks = pprof.stacks(profile)
        for values in total.values():
            values[2:] = 0, 0
        for stack, values in stacks.items():
            before = total.setdefault(stack, [0] * 4)
            total[stack] = [before[0] + values[0], before[1] + values[1], values[2], values[3]]
    show(total)
    return nr == 0


def show(total):
    for stack, values in sorted(total.items()):
        if any(values):
            print(";".join(reversed(stack)).replace(" ", "_"), *values)


def totals(path):
    with open(path, "rb") as f:
        profile = pprof.read(f.read())
    order = [profile["types"].index(t) for t in USUAL]
    show({stack: [values[i] for i in order] for stack, values in pprof.stacks(profile).items()})


def check(directory):
    last, nr = None, 0
    for path, seen, profile in received(directory):
        nr += 1
        assert profile["types"] == USUAL, profile["types"]
        assert profile["default"] == "inuse_space", profile["default"]
        assert all(v >= 0 for _, values, _ in profile["samples"] for v in values), "a negative value"
        assert all(any(values) for _, values, _ in profile["samples"]), "a sample without values"
        if seen["path"].endswith("/profiles/writeraw"):
            assert seen["labels"]["__name__"] == "memory" and seen["labels"]["job"], seen["labels"]
            assert profile["time"] > 0
            continue
        query = seen["query"]
        assert query["format"] == "pprof" and query["spyName"] == "memdiag", query
        assert int(query["from"]) <= int(query["until"]), query
        # each begins where the last one that was accepted ended
        assert last is None or query["from"] == last, (query, last)
        if seen["answer"] == "200":
            last = query["until"]
        assert set(seen["config"]) == {name for name, _ in USUAL}, seen["config"]
        assert seen["config"]["inuse_space"] == {"units": "bytes", "aggregation": "average", "cumulative": False}
        assert not seen["config"]["alloc_space"]["cumulative"]
    assert nr, "nothing was received"


modes = {"sums": sums, "totals": totals, "check": check}
if sys.argv[1] in modes:
    sys.exit(modes[sys.argv[1]](sys.argv[2]))
directory, answers = sys.argv[1], sys.argv[2:]
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(directory + "/port.new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(directory + "/port.new", directory + "/port")
server.serve_forever()
