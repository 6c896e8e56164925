"""A browser that does what a user does: a client of chromedriver's WebDriver (w3.org/TR/webdriver2), and no more of it
than the tests need."""
import base64
import json
import subprocess
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "Backspace": "\ue003", "Control": "\ue009"}


class Browser:
    def __init__(self, scratch, width=1280, height=900):
        self.driver = subprocess.Popen(["chromedriver", "--port=0", "--log-path=" + scratch + "/chromedriver.log"],
                                       stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if "started successfully on port " in line:
                self.base = "http://127.0.0.1:" + line.rsplit("on port ", 1)[1].split(".")[0].strip()
                break
        else:
            raise RuntimeError("chromedriver does not start")
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                f"--user-data-dir={scratch}/chromium", f"--window-size={width},{height}"]
        options = {"args": args, "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}}
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]
        self.do("POST", "/timeouts", {"script": 600000, "pageLoad": 600000})

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=900) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(json.load(e)["value"]["message"].split("\n")[0]) from None

    def do(self, method, path, body=None):
        return self._send(method, self.session + path, body)

    def close(self):
        try:
            self.do("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def get(self, url):
        self.do("POST", "/url", {"url": url})

    def back(self):
        self.do("POST", "/back", {})

    def resize(self, width, height):
        self.do("POST", "/window/rect", {"width": width, "height": height})

    def run(self, script, *args):
        return self.do("POST", "/execute/sync", {"script": script, "args": list(args)})

    def run_later(self, script, *args):
        """As run(), for a script that calls its last argument with the result."""
        return self.do("POST", "/execute/async", {"script": script, "args": list(args)})

    def find(self, css):
        return self.do("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.do("POST", f"/element/{self.find(css)}/click", {})

    def write(self, css, text):
        """Replace the text of a field as a user does."""
        e = self.find(css)
        self.do("POST", f"/element/{e}/clear", {})
        if text:
            self.do("POST", f"/element/{e}/value", {"text": text})

    def keys(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def mouse(self, css, x, y, clicks=1):
        """Move to (x, y) from the left top corner of an element that is in view, and click."""
        where = self.run("const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                         "return [r.left, r.top];", css)
        actions = [{"type": "pointerMove", "duration": 0, "x": round(where[0] + x), "y": round(where[1] + y)}]
        for _ in range(clicks):
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                                  "actions": actions}]})

    def drag(self, css, from_x, to_x, y):
        """Draw from one place of an element to another, with the button held."""
        where = self.run("const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                         "return [r.left, r.top];", css)
        move = [{"type": "pointerMove", "duration": 50, "x": round(where[0] + x), "y": round(where[1] + y)}
                for x in (from_x, (from_x + to_x) / 2, to_x)]
        actions = [move[0], {"type": "pointerDown", "button": 0}, *move[1:], {"type": "pointerUp", "button": 0}]
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                                  "actions": actions}]})

    def until(self, script, *args, seconds=300):
        """Wait until the script returns something true, and return that."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *args)
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError("it does not become true: " + script)
            time.sleep(0.05)

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.do("GET", "/screenshot")))

    def requests(self):
        """The addresses that pages have asked for since the last call."""
        events = [json.loads(e["message"])["message"] for e in self.do("POST", "/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """What the browser wrote to its console since the last call."""
        return [e["message"] for e in self.do("POST", "/se/log", {"type": "browser"})]
