"""Headless Chromium through its DevTools protocol over a pipe."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    """One page. `requests`: the addresses that it asked for. `complaints`: exceptions, and what its policy refused."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="esper-browser-", ignore_cleanup_errors=True)
        self.requests, self.complaints, self.last_id, self.buffer = [], [], 0, b""

    @staticmethod
    def path():
        return shutil.which("chromium")

    def __enter__(self):
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()
        options = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "--disable-gpu",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
                   "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium refuses root otherwise; the page is our own

        def place():
            os.dup2(to_read, 103), os.dup2(from_write, 104)
            os.dup2(103, 3), os.dup2(104, 4)

        self.process = subprocess.Popen([self.path(), *options], preexec_fn=place, pass_fds=(3, 4, to_read, from_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(domain + ".enable")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.come], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self.come, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.last_id += 1
        asked = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + 60
        while (answer := self.message(deadline)).get("id") != self.last_id:
            self.take(answer)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def take(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        if method == "Log.entryAdded" and parameters["entry"]["source"] == "security":
            self.complaints.append(parameters["entry"]["text"])
        assert method != "Page.javascriptDialogOpening", "the page opened a dialog: " + json.dumps(parameters)

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression, seconds=60):
        deadline = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < deadline, f"{expression} does not come true:\n" + self.value("document.body.innerText")
            time.sleep(0.1)

    def open(self, url):
        self.ask("Page.navigate", url=url)
        self.wait_for("location.protocol === 'http:' && document.readyState === 'complete'")

    def look(self, path, width, scheme, height=None):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height or 800, deviceScaleFactor=1, mobile=False)
        full = int(self.value("document.documentElement.scrollHeight"))
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height or min(full, 4000), deviceScaleFactor=1, mobile=False)
        picture = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(picture))
