"""docs/experiments/deepen.md and the lines for the README, made from deepen.json alone."""
import statistics

from figures import correct, interval, p_value, paired, verdict
from frame import PROCESSOR_TIMES, few_seeds, machine, other_work, page
from tables import bracketed, plus_minus, spread, table, tested

WANTED_RATIO, MARGIN, MARGIN_FROM, TOLERANCE = 0.65, 0.01, 4, 0.02

INTRODUCTION = """Transformers of {depths} layers, trained from the start, and one **grown** run that begins with {start} layers and gets a copy after each of them
(`{blueprint}`) after {at} % of its epochs. Each is trained for five budgets of time; the learning rate follows one cosine
to zero over each run's own budget, and all other settings are equal.

**Time** is the processor time of training, with the graft and all that comes with it; start-up, checkpoints and validation, which is there for the
curves alone, are left out. A unit is {unit:g} s. How many steps fit was measured before the runs ({jobs} side by side, as the runs are) and is the same for
all seeds; the measured times are below. {budget_note}

All seeds read the same text: its first 90 % are trained on, the next 3 % validate, the last 7 % are the test part, which `esper evaluate` reads once, after
a run's last step. The seeds differ in initial values and in the order of samples. Losses are cross entropies in nats per character. Intervals are 95 %
Student's t intervals over the seeds, differences are taken seed by seed; p is corrected for all comparisons on this page (Holm). {seeds_note}
"""

CAVEATS = """- The networks are small, and so is the text; one width, one learning rate, one point of growth, all chosen on the validation part with seeds 101 to 103.
- The best depth of a budget is chosen afterwards, by the very losses that it is compared in: a static network whose depth was chosen before would be
  at most as good.
- Intervals cover initial values and order of samples, not the choice of the text.
- {seeds} seeds: "not shown" is not "equal".
"""


def depth_arms(runs):
    return [arm for arm in next(iter(runs.values())) if arm != "grown"]


def layers(arm):
    return "grown" if arm == "grown" else f"{arm.removeprefix('static')} layers"


def training_s(record):
    """Processor time of training: without start-up, checkpoints and validation, which is there for the curve alone."""
    return (record["train_s"] - record["validation_s"]) / record["wall_over_cpu"]


def budgets_of(runs):
    """Those at which every arm was trained."""
    return [budget for budget, arms in runs.items() if len(arms) > 1]


def moments(record):
    """(training time, validation loss) after each epoch; the last one's time is the run's."""
    scale = training_s(record) / record["curve"][-1][0]
    return [(spent * scale, loss) for spent, loss in record["curve"]]


def first_reach(records, loss):
    """The shortest time after which one of the runs had such a validation loss; None if none had."""
    times = [spent for record in records for spent, reached in moments(record) if reached <= loss]
    return min(times, default=None)


def ratio_of_seed(runs, budget, deepest):
    """Time in which a grown run reached the deepest static network's final validation loss, over that network's time."""
    target = runs[budget][deepest]
    reached = first_reach([arms["grown"] for arms in runs.values()], target["validation_loss"])
    return None if reached is None else reached / training_s(target)


def summarise(entry):
    """Every figure that page and README quote. Keys of budgets are those of the file."""
    seeds = [of_seed["runs"] for of_seed in entry["seeds"].values()]
    static = depth_arms(seeds[0])
    summary = {"budgets": {}, "ratios": {}}
    for budget in budgets_of(seeds[0]):
        arms = {arm: {figure: interval([read(runs[budget][arm]) for runs in seeds]) for figure, read in (
            ("test_loss", lambda r: r["test_loss"]), ("validation_loss", lambda r: r["validation_loss"]), ("time_s", training_s),
            ("steps", lambda r: r["steps"]))} for arm in (*static, "grown")}
        best = min(static, key=lambda arm: arms[arm]["test_loss"]["mean"])
        grown, rival = ([runs[budget][arm]["test_loss"] for runs in seeds] for arm in ("grown", best))
        summary["budgets"][budget] = {"arms": arms, "best": best, "difference": paired(grown, rival)}
        ratios = [ratio_of_seed(runs, budget, static[-1]) for runs in seeds]
        reached = [ratio for ratio in ratios if ratio is not None]
        summary["ratios"][budget] = {"values": ratios, "interval": interval(ratios) if len(reached) == len(ratios) else None}
    largest = summary["ratios"][budgets_of(seeds[0])[-1]]
    tests = [figures["difference"] for figures in summary["budgets"].values()]
    if largest["interval"]:
        largest["interval"]["p"] = p_value([ratio - 1 for ratio in largest["values"]])
        tests.append(largest["interval"])
    correct(tests)
    return summary


def within_margin(difference):
    return "within 0.01: shown" if difference["high"] <= MARGIN else "within 0.01 on average" if difference["mean"] <= MARGIN else "not within 0.01"


def said(difference):
    better = {-1: "grown is better: shown", 1: "grown is worse: shown", 0: "no difference shown"}[verdict(difference)]
    return f"{better}; {within_margin(difference)}"


def said_of_time(ratios):
    reached = sum(value is not None for value in ratios["values"])
    if ratios["interval"] is None:
        return f"reached by {reached} of {len(ratios['values'])} seeds"
    return bracketed(ratios["interval"], "{:.2f}")


def budget_rows(summary, cell):
    """A row for each budget; cell(figures) of each arm."""
    for budget, figures in summary["budgets"].items():
        yield budget, *(cell(arm) for arm in figures["arms"].values())


def worst_deviation(entry, summary):
    """Of an arm's mean time from its budget, as a share."""
    return max(abs(arm["time_s"]["mean"] / (float(budget) * entry["unit_s"]) - 1)
               for budget, figures in summary["budgets"].items() for arm in figures["arms"].values())


def difference_rows(summary):
    for budget, figures in summary["budgets"].items():
        difference = figures["difference"]
        ahead = difference["n"] - difference["wins"] - difference["ties"]  # a smaller loss
        yield (budget, layers(figures["best"]), *tested(difference, "{:+.4f}"), f"{ahead} of {difference['n']}", said(difference))


def ratio_rows(summary):
    for budget, ratios in summary["ratios"].items():
        reached = [value for value in ratios["values"] if value is not None]
        yield budget, said_of_time(ratios), spread(reached or [float("nan")], "{:.2f}")


def seed_rows(entry):
    for seed, of_seed in entry["seeds"].items():
        for budget, arms in of_seed["runs"].items():
            if len(arms) > 1:
                yield seed, budget, *(f"{record['test_loss']:.4f}" for record in arms.values())


def early_lines(entry):
    """The grown run that ends at 0.65 of the largest budget."""
    seeds = [of_seed["runs"] for of_seed in entry["seeds"].values()]
    early = [budget for budget in seeds[0] if len(seeds[0][budget]) == 1]
    for budget in early:
        largest, deepest = budgets_of(seeds[0])[-1], depth_arms(seeds[0])[-1]
        grown, target = ([runs[b][arm]["validation_loss"] for runs in seeds] for b, arm in ((budget, "grown"), (largest, deepest)))
        difference = paired(grown, target)
        yield (f"A grown run whose whole budget is {budget} units ({statistics.fmean(training_s(runs[budget]['grown']) for runs in seeds):.1f} s) ends at a "
               f"validation loss of {statistics.fmean(grown):.4f}; {layers(deepest)} from the start end at {statistics.fmean(target):.4f} after {largest} units: "
               f"{bracketed(difference, '{:+.4f}')}.")


def environment_lines(entry):
    seeds = entry["seeds"].values()
    every_run = (record for of_seed in seeds for arms in of_seed["runs"].values() for record in arms.values())
    return machine(entry["environment"], seeds), *other_work(every_run, PROCESSOR_TIMES)


def introduction(entry, arms, summary):
    deviation = worst_deviation(entry, summary)
    note = (f"The mean time of each arm is within {100 * deviation:.1f} % of its budget." if deviation <= TOLERANCE else
            f"**The mean time of an arm is up to {100 * deviation:.1f} % off its budget**, more than the 2 % that were intended.")
    *shallower, deepest = (arm.removeprefix("static") for arm in arms if arm != "grown")
    return INTRODUCTION.format(depths=f"{', '.join(shallower)} and {deepest}", at=entry["at_percent"], start=entry["start"], blueprint=entry["blueprint"],
                               unit=entry["unit_s"], jobs=entry["jobs"], budget_note=note, seeds_note=few_seeds(len(entry["seeds"])))


def body(entry, summary):
    arms = list(next(iter(summary["budgets"].values()))["arms"])
    names, largest = [layers(arm) for arm in arms], list(summary["ratios"])[-1]
    yield from (introduction(entry, arms, summary), f"Settings: `{entry['config']}`; {len(entry['seeds'])} seeds.", "", *environment_lines(entry), "")
    yield from ("## Test loss at equal time", "")
    yield from table(("budget, units", *names), budget_rows(summary, lambda arm: plus_minus(arm["test_loss"], "{:.4f}")))
    yield from ("", "Against the best static depth of each budget, chosen in hindsight by the mean of these losses (below 0: grown is better):", "")
    yield from table(("budget, units", "best static", "grown minus best, nats", "95 % interval", "p", "grown ahead in", ""), difference_rows(summary))
    yield from ("", f"Target: within {MARGIN} at {MARGIN_FROM} units and more, and better at the largest.", "")
    yield from ("## Time to the loss of the deepest static network", "",
                f"The time after which a grown run, of whichever budget, had the final validation loss of {names[-2]} from the start, over the time that those "
                "took. Losses are compared after each epoch.", "")
    yield from table(("budget of the static network", "time, share of its", "least and most"), ratio_rows(summary))
    yield from ("", f"Target: at most {WANTED_RATIO} at {largest} units, interval below 1.", "", *early_lines(entry), "", "## Time and steps", "")
    yield from table(("budget, units", *names), budget_rows(summary, lambda arm: f"{arm['time_s']['mean']:.1f} s, {arm['steps']['mean']:.0f} steps"))
    yield from ("", "## Seed by seed", "", *table(("seed", "budget, units", *names), seed_rows(entry)), "")


def markdown(entry):
    return page("Does deepening pay?", "deepen", body(entry, summarise(entry)), CAVEATS.format(seeds=len(entry["seeds"])), [entry["command"]])


def readme(entry):
    """The lines that the README may quote."""
    summary = summarise(entry)
    def cells(budget, figures):
        losses = (f"{figures['arms'][arm]['test_loss']['mean']:.4f}" for arm in (figures["best"], "grown"))
        return budget, layers(figures["best"]), *losses, bracketed(figures["difference"], "{:+.4f}"), said(figures["difference"])

    yield from table(("budget, units", "best static depth in hindsight", "its test loss", f"grown, {entry['start']} to {2 * entry['start']} layers",
                      "grown minus best", ""), (cells(*item) for item in summary["budgets"].items()))
    largest, ratios = list(summary["ratios"].items())[-1]
    yield ""
    yield f"Time in which a grown run reaches the final validation loss of 8 layers from the start at {largest} units: {said_of_time(ratios)} of theirs."
