"""The arms of `scripts/experiment growth`, and their runs."""
import runs

# name: what it is. The order is that of the tables.
ARMS = {
    "small": "(a) the small host alone, equal epochs",
    "small_time": "(a) the small host alone, equal time",
    "grown": "(b) the same host, grown by the heuristic",
    "static": "(c) the grown network from the start, equal epochs",
    "static_time": "(c) the grown network from the start, equal time",
}


def epochs_in(budget_s, record):
    """How many epochs of that run fit into the time; one at least."""
    return max(1, round(budget_s * record["epochs"] / record["train_s"]))


def in_equal_time(room, seed, arm, fixed, parts, like, budget_s):
    epochs = epochs_in(budget_s, like)
    if epochs == like["epochs"]:
        return {**like, "arm": arm}
    return room.run(seed, arm, [*fixed, f"epochs={epochs}"], parts)


def all_arms(room, seed, parts, epochs):
    """Records of one seed by arm, one run after another, since their time counts."""
    asked = [f"epochs={epochs}"]
    grown = room.run(seed, "grown", asked, parts)
    small = room.run(seed, "small", [*asked, *runs.WITHOUT_GROWTH], parts)
    fixed = [*runs.WITHOUT_GROWTH, f"host.modules=[{', '.join(grown['modules'])}]"]
    static = room.run(seed, "static", [*asked, *fixed], parts)
    records = {"small": small, "grown": grown, "static": static}
    for arm, its in (("small", runs.WITHOUT_GROWTH), ("static", fixed)):
        records[f"{arm}_time"] = in_equal_time(room, seed, f"{arm}_time", its, parts, records[arm], grown["train_s"])
    return {arm: records[arm] for arm in ARMS}
