"""Whether a run was what it was asked to be: gpu_run_check.py RUN LANE. It trained on a GPU, took steps in that lane
(any: in whichever), validation ran as a graph where steps do, and no fallback was reported. Ends with 0, or prints what is wrong and ends with 1."""

import json
import sys

FALLBACKS = ("tolaria.graph_fallback", "tolaria.compile_fallback", "tolaria.compile_runtime_fallback",
             "tolaria.graph_disabled_after_failures", "tolaria.growth_unprepared", "tolaria.pinned_memory_refused")


def packets(folder):
    with open(f"{folder}/telemetry.jsonl") as file:
        return [json.loads(line) for line in file]


def main(folder, lane):
    steps, validation, problems, device = {}, {}, [], ""
    for packet in packets(folder):
        for event in packet.get("events", []):
            name = event["description"]
            device = event["attributes"].get("device", device) if name == "tolaria.run_started" else device
            if name in FALLBACKS or name == "tolaria.lane_refused" and "not faster" not in event["attributes"].get("reason", ""):
                problems.append(f"{name}: {event['attributes']}")
        for metric in packet.get("metrics", []):
            if metric["name"] == "tolaria.step.lane_steps_total":
                steps[metric["attributes"]["lane"]] = metric["value"]
            if metric["name"] == "tolaria.validation.lane_batches_total":
                validation[metric["attributes"]["lane"]] = metric["value"]
    print(f"{device}, steps by lane: {steps}, batches of validation: {validation}")
    if not device.startswith("cuda"):
        problems.append(f"it trained on {device or 'nothing'}")
    # Eager's steps are counted only beside others.
    right = set(steps) <= {"eager"} if lane == "eager" else lane == "any" or steps.get(lane)
    if not right:
        problems.append(f"no step ran in lane {lane}")
    if lane not in ("eager", "replay") and not validation.get("graph"):
        problems.append("no batch of validation ran as a graph")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
