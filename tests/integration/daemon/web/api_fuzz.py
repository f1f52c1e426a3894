"""The daemon's OpenAPI document is valid, and the live daemon answers what is made from it without a 5xx or a hang:
api_fuzz.py PROJECT_ROOT ESPER.

ESPER_FUZZ_SECONDS is how long schemathesis makes requests; 20 without it."""

import os
import pathlib
import subprocess
import sys

import odd_requests
from live_daemon import LiveDaemon, skip

root, esper = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
tools = root / ".esper" / "api"
python = root / ".esper" / "python" / "bin" / "python"
if not tools.is_dir():
    skip("schemathesis is missing; scripts/bootstrap --api installs it")
seconds = int(os.environ.get("ESPER_FUZZ_SECONDS", "20"))


def run(module, *words, **options):
    return subprocess.run([str(python), "-m", module, *words], env={**os.environ, "PYTHONPATH": str(tools), "NO_COLOR": "1"},
                          timeout=seconds + 300, **options)


run("openapi_spec_validator", str(root / "docs" / "openapi.json"), check=True)
with LiveDaemon(esper) as daemon:
    for name in ("first", "second"):
        daemon.submit(root / "configs" / "run" / "digits.yaml", "--name", name, "--hold")
    before_mb = daemon.resident_mb()
    # Stopping would end the test, and no stream ends by itself.
    result = run("schemathesis.cli", "run", daemon.url + "/v1/openapi.json", "--max-time", str(seconds),
                 "--header", f"Authorization: Bearer {daemon.token}", "--request-timeout", "10",
                 "--exclude-path", "/v1/daemon/stop", "--exclude-path", "/v1/events", "--continue-on-failure",
                 "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,"
                 "response_schema_conformance,unsupported_method,allow_header_conformance",
                 cwd=daemon.path)
    odd_requests.send_all(daemon)
    after_mb = daemon.resident_mb()
    print(f"resident: {before_mb:.1f} MiB before, {after_mb:.1f} MiB after")
    assert after_mb < before_mb + 64, "the daemon's memory grew"
    assert len(daemon.get("/v1/jobs")["jobs"]) >= 2, "the daemon does not answer any more"
    raise SystemExit(result.returncode)
