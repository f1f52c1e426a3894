"""A daemon of the binary under test that listens on loopback TCP, with a folder of its own."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LiveDaemon:
    def __init__(self, esper):
        self.esper = str(esper)
        self.folder = tempfile.TemporaryDirectory(prefix="esper-web-")
        self.path = pathlib.Path(self.folder.name)
        self.state = self.path / "state"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (self.path / "daemon.yaml").write_text(f"threads: 1\nhttp:\n  port: {self.port}\n  token_file: token\n")

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.esper, "daemon", "--state-dir", str(self.state), "--config", str(self.path / "daemon.yaml")],
            stdout=(self.path / "daemon.out").open("w"), stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 60
        while self.run("daemon", "status", check=False).returncode != 0:
            assert time.monotonic() < deadline and self.process.poll() is None, (self.path / "daemon.out").read_text()
            time.sleep(0.05)
        self.token = (self.path / "token").read_text().strip()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.cancel_all()
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def run(self, *words, check=True):
        return subprocess.run([self.esper, *words, "--state-dir", str(self.state), "--json"], check=check, timeout=120,
                              capture_output=True, text=True, cwd=self.path)

    def submit(self, config, *words):
        return json.loads(self.run("submit", str(config), *words).stdout)["id"]

    def open(self, path, seconds=30):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
        return urllib.request.urlopen(request, timeout=seconds)

    def get(self, path):
        with self.open(path) as response:
            return json.load(response)

    def wait_for(self, job, states, seconds=120):
        deadline = time.monotonic() + seconds
        while self.get(f"/v1/jobs/{job}")["state"] not in states:
            assert time.monotonic() < deadline, self.get(f"/v1/jobs/{job}")
            time.sleep(0.1)

    def cancel_all(self):
        """Nothing begins any more, and what runs has ended: no process writes into the folder after this."""
        self.run("daemon", "drain")
        for job in self.get("/v1/jobs?state=starting,running,stopping")["jobs"]:
            self.run("job", "cancel", str(job["id"]), check=False)
            self.wait_for(job["id"], {"succeeded", "failed", "cancelled", "diverged"})

    def resident_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def skip(reason):
    """ctest counts the exit code as a test that was skipped."""
    print("skipped:", reason)
    raise SystemExit(77)
