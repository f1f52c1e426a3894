"""The arms of `scripts/experiment growth`, and their runs."""
import functools

import runs

# name: what it is. The order is that of the tables.
ARMS = {
    "small": "(a) the small host alone, equal epochs",
    "small_time": "(a) the small host alone, equal time",
    "grown": "(b) the same host, grown by the heuristic",
    "static": "(c) the grown network from the start, equal epochs",
    "static_time": "(c) the grown network from the start, equal time",
    "grown_control": "(d) as (b), with a control for each seed",
    "small_control": "(a') the small host alone, averaged, the time of (d)",
    "static_control": "(c') the network of (d) from the start, averaged, the time of (d)",
}
RUNS = len(ARMS) + 2  # and two that measure how long averaging networks take
# Growing with controls averages the parameters without being told to; what it is compared with has to be told.
CONTROL, AVERAGED = ("growth.gates.evidence=control",), ("training.ema_decay=0.97",)
FEWEST_EPOCHS = 10  # the controls get a tenth of a run's epochs, and need one


def epochs_in(budget_s, record):
    """How many epochs of that run fit into the time; one at least."""
    return max(1, round(budget_s * record["epochs"] / record["train_s"]))


def in_equal_time(run, arm, fixed, like, budget_s):
    epochs = epochs_in(budget_s, like)
    if epochs == like["epochs"]:
        return {**like, "arm": arm}
    return run(arm, [*fixed, f"epochs={epochs}"])


def static_sets(grown):
    return [*runs.WITHOUT_GROWTH, f"host.modules=[{', '.join(grown['modules'])}]"]


def germinated(_, run):
    """The modules that grew, in order of birth, whether they were kept or not."""
    born = (event["attributes"] for packet in runs.telemetry(run) for event in packet["events"]
            if event["description"] == "seed_stage" and event["attributes"]["to"] == "GERMINATED")
    return {"grew": [f"{seed['slot']}={seed['blueprint']}" for seed in born]}


def without_controls(run, asked):
    """(a) to (c)."""
    grown = run("grown", asked, more=germinated)
    small = run("small", [*asked, *runs.WITHOUT_GROWTH])
    fixed = static_sets(grown)
    static = run("static", [*asked, *fixed])
    return {"small": small, "grown": grown, "static": static,
            "small_time": in_equal_time(run, "small_time", runs.WITHOUT_GROWTH, small, grown["train_s"]),
            "static_time": in_equal_time(run, "static_time", fixed, static, grown["train_s"])}


def with_controls(run, asked):
    """(d), and what it is compared with. Averaging takes time in each epoch, so that time is measured with it."""
    grown = run("grown_control", [*asked, *CONTROL], more=germinated)

    def in_its_time(arm, pace, sets):
        return in_equal_time(run, arm, [*sets, *AVERAGED], run(pace, [*asked, *sets, *AVERAGED]), grown["train_s"])

    small = in_its_time("small_control", "small_pace", runs.WITHOUT_GROWTH)
    static = in_its_time("static_control", "static_pace", static_sets(grown)) if grown["modules"] else {**small, "arm": "static_control"}
    return {"grown_control": grown, "small_control": small, "static_control": static}


def all_arms(room, seed, parts, epochs):
    """Records of one seed by arm, one run after another, since their time counts."""
    run, asked = functools.partial(room.run, seed, parts=parts), [f"epochs={epochs}"]
    records = {**without_controls(run, asked), **with_controls(run, asked)}
    return {arm: records[arm] for arm in ARMS}
