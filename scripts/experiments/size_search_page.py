"""docs/experiments/size_search.md and the lines for the README, made from size_search.json alone."""
import statistics

from figures import holm, interval, paired, verdict
from tables import BUSY, TITLES, again, busiest, few_seeds, machine, signed

ARMS = {
    "quarters": "four static sizes, a quarter of the time each; the best on validation",
    "halving": "four static sizes, an eighth of the time each; the best on validation once more, for half of the time",
    "free": "for reference, four times the time: four static sizes, all of the time each; the best on validation",
}
RIVALS = ("quarters", "halving")  # what the claim is about
TOLERANCE = 0.02

INTRODUCTION = """# One grown run, or a search for the size?

Written by `scripts/experiment size-search` from `size_search.json`; do not edit. `scripts/experiment size-search --page` regenerates it.

Who does not know how large a network should be can let one grow, or try several sizes. Here one run is **grown** by the heuristic with its default
settings, and against it the best of four static sizes is searched on the validation part **in the same time in all**:

{protocols}

What counts is the test accuracy of the network that the search chooses. The sizes go from the host alone to more than what usually grows. The learning rate
follows one cosine to zero over each run's own budget; all other settings are equal. A budget that is no multiple of an epoch's time is met with shorter epochs
(`data.epoch_samples`). How long an epoch of a size takes is measured in a short run before, which is not charged to the search.

Time is the processor time of the training process without start-up and checkpoints; it includes validation after each epoch, and for the grown run all costs of
growing. Each seed draws its own training, validation and test part; the test part is read by `esper evaluate` after a run's last step. Accuracies are on the
test part, in percent. Intervals are 95 % Student's t intervals over the seeds, differences are taken seed by seed; p is corrected for all comparisons on
this page (Holm). {seeds_note}
"""

CAVEATS = """## What this does not say

- Four sizes on one axis. A search with more sizes needs more time; one that starts with a good guess needs less.
- The search gets sizes that suit the task: they were chosen knowing what grows. Some are the very modules that the policy may grow.
- The third row is no rival: it takes four times the time.
- {seeds} seeds and more: "not shown" is not "equal".
"""


def training_s(record):
    """Processor time; with the validation after each epoch, which the grown run's policy looks at."""
    return record["train_s"] / record["wall_over_cpu"]


def search_s(arm):
    return sum(training_s(record) for record in arm["tried"])


def arms_of(entry):
    return [arm for arm in ARMS if all(arm in of_seed for of_seed in entry["seeds"].values())]


def size_name(size):
    return size or "host alone"


def summarise(entry):
    seeds = list(entry["seeds"].values())
    ours = [of_seed["grown"]["test_accuracy"] for of_seed in seeds]
    summary = {"grown": {"test_accuracy": interval(ours), "time_s": interval([training_s(of_seed["grown"]) for of_seed in seeds])},
               "arms": {}, "differences": {}}
    for arm in arms_of(entry):
        theirs = [of_seed[arm]["chosen"]["test_accuracy"] for of_seed in seeds]
        ratios = [search_s(of_seed[arm]) / training_s(of_seed["grown"]) for of_seed in seeds]
        summary["arms"][arm] = {"test_accuracy": interval(theirs), "time_s": interval([search_s(of_seed[arm]) for of_seed in seeds]),
                                "of_grown": statistics.fmean(ratios)}
        if arm in RIVALS:
            summary["differences"][arm] = paired(ours, theirs)
    return summary


def summaries_of(report):
    """By data set; p corrected for all comparisons of all of them."""
    summaries = {name: summarise(report[name]) for name in TITLES if name in report}
    differences = [difference for summary in summaries.values() for difference in summary["differences"].values()]
    for difference, corrected in zip(differences, holm([difference["p"] for difference in differences])):
        difference["p"] = corrected
    return summaries


def percent(figures):
    return f"{100 * figures['mean']:.2f} ± {100 * figures['half']:.2f}"


def said(difference):
    return {1: "grown is better: shown", -1: "grown is worse: shown", 0: "not shown"}[verdict(difference)]


def arm_rows(entry, summary):
    grown = summary["grown"]
    yield f"| grown | {grown['time_s']['mean']:.2f} | 1 | {percent(grown['test_accuracy'])} | |"
    for arm, figures in summary["arms"].items():
        chosen = [size_name(of_seed[arm]["chosen"]["size"]) for of_seed in entry["seeds"].values()]
        counts = "; ".join(f"{size}: {chosen.count(size)}" for size in map(size_name, entry["sizes"]) if size in chosen)
        yield f"| {ARMS[arm]} | {figures['time_s']['mean']:.2f} | {figures['of_grown']:.3f} | {percent(figures['test_accuracy'])} | {counts} |"


def difference_rows(summary):
    for arm, difference in summary["differences"].items():
        ties = f", {difference['ties']} equal" if difference["ties"] else ""
        yield (f"| {arm} | {signed(difference, '{:+.2f}', 100)} | {difference['p']:.3g} | {difference['wins']} of {difference['n']}{ties} "
               f"| {said(difference)} |")


def seed_rows(entry, arms):
    for seed, of_seed in entry["seeds"].items():
        cells = (f"{100 * of_seed[arm]['chosen']['test_accuracy']:.2f} ({size_name(of_seed[arm]['chosen']['size'])})" for arm in arms)
        grown = of_seed["grown"]
        yield f"| {seed} | {100 * grown['test_accuracy']:.2f} ({', '.join(grown['modules']) or 'nothing'}) | {' | '.join(cells)} |"


def records_of(entry):
    for of_seed in entry["seeds"].values():
        yield of_seed["grown"]
        for arm in arms_of(entry):
            yield from of_seed[arm]["tried"]


def time_lines(entry, summary):
    yield machine(entry["environment"], sorted({of_seed["esper"] for of_seed in entry["seeds"].values()}))
    off = max(abs(summary["arms"][arm]["of_grown"] - 1) for arm in RIVALS)
    yield (f"On average the searches took the grown run's time within {100 * off:.1f} %." if off <= TOLERANCE else
           f"**On average a search took {100 * off:.1f} % more or less than the grown run's time**, more than the 2 % that were intended.")
    if (clock := busiest(records_of(entry))) > BUSY:
        yield (f"**The machine had other work**: in the worst run the clock ran {clock:.2f} times as long as the processor worked. Times are the "
               "processor's, so they are rough only as far as the runs slowed each other down.")


def section(name, entry, summary):
    data, arms = entry["data"], arms_of(entry)
    sizes = "; ".join(f"({i}) {size_name(size)}" for i, size in enumerate(entry["sizes"], 1))
    yield from (f"## {TITLES[name]}", "")
    yield (f"{data['train']} training, {data['validation']} validation and {data['test']} test samples; settings: `{entry['config']}`; "
           f"{len(entry['seeds'])} seeds. Sizes: {sizes}.")
    yield from ("", *time_lines(entry, summary), "")
    yield from ("| | time, s | of grown's | test accuracy, % | how often which size was chosen |", "|---|---|---|---|---|")
    yield from arm_rows(entry, summary)
    yield from ("", "| grown minus the search's choice | mean, points | 95 % interval | p | grown ahead in | |", "|---|---|---|---|---|---|")
    yield from difference_rows(summary)
    yield from ("", "| seed | grown | " + " | ".join(arms) + " |", "|---" * (len(arms) + 2) + "|", *seed_rows(entry, arms), "")


def markdown(report):
    fewest = min(len(entry["seeds"]) for entry in report.values())
    protocols = "\n".join(f"- **{arm}**: {ARMS[arm]}." for arm in RIVALS)
    lines = [INTRODUCTION.format(seeds_note=few_seeds(fewest), protocols=protocols)]
    for name, summary in summaries_of(report).items():
        lines.extend(section(name, report[name], summary))
    lines.append(CAVEATS.format(seeds=fewest))
    lines.extend(again(entry["command"] for entry in report.values()))
    return "\n".join(lines).rstrip() + "\n"


def readme(report):
    """The lines that the README may quote."""
    summaries = summaries_of(report)
    yield "| test accuracy, %, mean ± 95 % interval | " + " | ".join(TITLES[name] for name in summaries) + " |"
    yield "|---" * (len(summaries) + 1) + "|"
    yield "| one grown run | " + " | ".join(percent(summary["grown"]["test_accuracy"]) for summary in summaries.values()) + " |"
    for arm in ARMS:
        cells = [percent(summary["arms"][arm]["test_accuracy"]) if arm in summary["arms"] else "-" for summary in summaries.values()]
        if set(cells) != {"-"}:
            yield f"| {ARMS[arm]} | " + " | ".join(cells) + " |"
    for name, summary in summaries.items():
        yield from ("", f"{TITLES[name]}: grown minus ...")
        for arm, difference in summary["differences"].items():
            yield (f"- {arm}: {100 * difference['mean']:+.2f} points [{100 * difference['low']:+.2f}, {100 * difference['high']:+.2f}], "
                   f"{said(difference)}")
