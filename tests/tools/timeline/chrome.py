"""A headless Chromium, spoken to through chromedriver in plain HTTP."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--force-device-scale-factor=1")
KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowDown": "\ue015", "Shift": "\ue008"}


def program():
    """The browser, if it and its driver are there."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    return found if shutil.which("chromedriver") else None


class Chrome:
    def __init__(self, width=1400, height=900):
        self.folder = tempfile.TemporaryDirectory(prefix="thrum-chrome-", ignore_cleanup_errors=True)
        self.start()
        try:
            flags = [*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self.folder.name}"]
            options = {"binary": program(), "args": flags}
            # The test's own limit is the limit; without these a script may take 30 s.
            limits = {"script": 86400000, "pageLoad": 86400000}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "timeouts": limits,
                      "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.base += f"/session/{answer['sessionId']}"
        except BaseException:
            self.driver.kill()
            self.driver.wait()
            raise

    def start(self):
        """Starts the driver; again, where somebody else has got the port that it has chosen."""
        while True:
            self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            told = b""
            for line in self.driver.stdout:
                told += line
                found = re.search(rb"started successfully on port (\d+)", line)
                if found:
                    self.base = f"http://127.0.0.1:{int(found.group(1))}"
                    return
            self.driver.wait()
            if b"port not available" not in told:
                raise RuntimeError(f"chromedriver does not start: {told.decode(errors='replace')}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.folder.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as why:
            raise RuntimeError(json.load(why)["value"]["message"].splitlines()[0]) from None

    def open(self, path):
        """Opens a file, and waits until its trace is shown, or a message in its place. Returns which of them."""
        self.call("POST", "/url", {"url": f"file://{path}"})
        return self.wait("document.documentElement.dataset.state")

    def js(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, expression):
        """Waits until something is true, by what the browser itself waits for: frames."""
        script = ("const done = arguments[0]; (function look() { const is = (" + expression + ");"
                  " is ? done(is) : requestAnimationFrame(look); })()")
        return self.call("POST", "/execute/async", {"script": script, "args": []})

    def settle(self):
        """Waits until nothing moves any more."""
        self.wait("!timeline.frames.pending && timeline.view.from === timeline.view.goal.from && 'still'")

    def keys(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.settle()

    def hold(self, key, is_down=True):
        action = {"type": "keyDown" if is_down else "keyUp", "value": KEYS.get(key, key)}
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [action]}]})

    def mouse(self, *actions):
        """Moves and buttons, as the protocol has them: ("move", x, y), "down", "up"."""
        steps = [{"type": "pointerMove", "x": int(a[1]), "y": int(a[2]), "duration": 0} if a[0] == "move"
                 else {"type": "pointerDown" if a == "down" else "pointerUp", "button": 0} for a in actions]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": steps,
                                                    "parameters": {"pointerType": "mouse"}}]})
        self.settle()

    def click(self, x, y):
        self.mouse(("move", x, y), "down", "up")

    def wheel(self, x, y, dy):
        scroll = {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": dy, "duration": 0}
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [scroll]}]})
        self.settle()

    def dark(self, is_dark):
        feature = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia",
                                                "params": {"features": [feature]}})

    def complaints(self):
        """The errors of the browser's console, as text."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))
