"""The work behind scripts/perf_drill: counts gated exactly, times as ratios of rows that took turns."""
import json
import os
import pathlib
import subprocess
import sys

SCENARIOS = ("reference", "mlp", "mlp_wide", "cnn", "transformer")
LANES = "eager,replay"
EXACT_EVERYWHERE = ("operators", "host_reads")
EXACT_HERE = ("allocations", "kernel_launches")  # depend on the libraries and the processor too
TIMED = (("reference", "eager/hand", 1.25), ("mlp", "eager/hand", 1.25))
DEADLINE_S = 480


def bench(build, scenario, more, preload=None):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    command = [build / "bin/esper", "bench", "--scenario", scenario, "--json", *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S)
    if done.returncode != 0:
        sys.exit(f"perf_drill: {scenario}: esper bench ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def count(build):
    counts, machine = {}, None
    for scenario in SCENARIOS:
        report = bench(build, scenario, ["--counts", "--lanes", LANES], build / "lib/libesper_counters.so")
        counts[scenario] = report["counts"]
        machine = report["environment"]["machine"]
    return {"machine": machine, "counts": counts}


def differences(kept, now):
    """Lines about what is gated and differs. On another machine than the kept one only what is equal everywhere."""
    fields = EXACT_EVERYWHERE + (EXACT_HERE if kept.get("machine") == now["machine"] else ())
    lines = []
    for scenario, lanes in now["counts"].items():
        before = kept.get("counts", {}).get(scenario, {})
        for lane in sorted(set(lanes) | set(before)):
            for field in fields:
                old, new = before.get(lane, {}).get(field), lanes.get(lane, {}).get(field)
                if old != new:
                    lines.append(f"{scenario} {lane}: {field} {old} -> {new}")
    return lines


def host_reads(now):
    """Esper's own lanes read nothing from the device within a step; what a loop by hand does is its own affair."""
    return [f"{scenario} {lane}: {count['host_reads']} host reads in a step" for scenario, lanes in now["counts"].items()
            for lane, count in lanes.items() if lane != "hand" and count["host_reads"] > 0]


def verdict(report, pair, most):
    low, _ = report["intervals"][pair]
    floor = report["noise"]["floor"]
    if floor > (most - 1) / 2:
        return "not judged: too noisy", False
    failed = low > 1 and report["ratios"][pair] > most
    return ("too slow" if failed else "pass"), failed


def main():
    root, build = map(pathlib.Path, sys.argv[1:3])
    kept_path, received = root / "baselines/perf/counts.json", root / "build/received/baselines/perf/counts.json"
    kept = json.loads(kept_path.read_text()) if kept_path.exists() else {}
    now = count(build)
    changed, reads, slow = differences(kept, now), host_reads(now), False
    for scenario, lanes in now["counts"].items():
        for lane, counted in lanes.items():
            print(f"{scenario:12} {lane:9}", *(f"{field} {value}" for field, value in counted.items()))
    for scenario, pair, most in TIMED:
        report = bench(build, scenario, ["--lanes", "eager", "--rounds", "15", "--epochs", "3"])
        text, failed = verdict(report, pair, most)
        slow = slow or failed
        print(f"{scenario:12} {pair}: {report['ratios'][pair]:.3f} {report['intervals'][pair]}, at most {most}, "
              f"noise floor {report['noise']['floor']:.3f}: {text}")
    if changed:
        received.parent.mkdir(parents=True, exist_ok=True)
        received.write_text(json.dumps(now, indent=2) + "\n")
        print(*changed, sep="\n", file=sys.stderr)
        print("perf_drill: counts differ from baselines/perf/counts.json; to accept them: scripts/approve -m REASON "
              "baselines/perf/counts.json", file=sys.stderr)
    elif received.exists():
        received.unlink()
    if reads:
        print(*reads, sep="\n", file=sys.stderr)
    return 1 if changed or reads or slow else 0


sys.exit(main())
