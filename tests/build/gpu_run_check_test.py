"""scripts/gpu_run_check.py accepts a run that was on a GPU, in its lane, and without a fallback, and refuses each other one with the
reason. The names that it looks for are those of the telemetry table."""

import json
import pathlib
import re
import subprocess
import sys

root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
script = root / "scripts/gpu_run_check.py"
folder.mkdir(parents=True, exist_ok=True)

names = set(re.findall(r'"(tolaria\.[a-z_.]+)"', script.read_text()))
table = (root / "lib/leyline/telemetry/telemetry_table.h").read_text()
unknown = sorted(name for name in names if f'"{name}"' not in table)
assert len(names) > 5 and not unknown, unknown


def event(name, **attributes):
    return {"description": name, "attributes": attributes}


def metric(name, lane, value):
    return {"name": name, "value": value, "attributes": {"lane": lane}}


def check(lane, device="cuda:0", steps="graph", validation="graph", events=()):
    """What it prints of such a run; nothing: it accepts it."""
    packets = [{"events": [event("tolaria.run_started", device=device)]},
               {"events": list(events), "metrics": [metric("tolaria.step.lane_steps_total", steps, 90),
                                                    metric("tolaria.validation.lane_batches_total", validation, 9)]}]
    (folder / "telemetry.jsonl").write_text("".join(json.dumps(packet) + "\n" for packet in packets))
    done = subprocess.run([sys.executable, script, folder, lane], capture_output=True, text=True)
    problems = done.stdout.splitlines()[1:]
    assert done.returncode == (1 if problems else 0) and not done.stderr, (done.stdout, done.stderr)
    return problems


assert check("graph") == []
assert check("any", steps="compiled") == []
assert check("eager", steps="eager", validation="eager") == []
assert check("compiled") == ["no step ran in lane compiled"]
assert check("eager") == ["no step ran in lane eager"]
assert check("graph", device="cpu") == ["it trained on cpu"]
assert check("graph", validation="replay") == ["no batch of validation ran as a graph"]
assert check("any", events=[event("tolaria.lane_refused", reason="it was not faster: 0.9 times the speed of graph")]) == []
for fallback in ("tolaria.lane_refused", "tolaria.graph_fallback", "tolaria.compile_fallback", "tolaria.growth_unprepared",
                 "tolaria.pinned_memory_refused"):
    assert check("any", events=[event(fallback, reason="another")])[0].startswith(fallback), fallback
