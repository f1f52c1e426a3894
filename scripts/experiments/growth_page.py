"""docs/experiments/growth.md and the lines for the README, made from growth.json alone."""
from arms import ARMS
from figures import holm, interval, paired, verdict
from tables import BUSY, TITLES, again, busiest, few_seeds, machine, signed, spread

SHORT = {"small": "(a) small, equal epochs", "small_time": "(a) small, equal time", "grown": "(b) grown",
         "static": "(c) static, equal epochs", "static_time": "(c) static, equal time"}
RIVALS = ("small", "small_time", "static", "static_time")

INTRODUCTION = """# Does growing pay?

Written by `scripts/experiment growth` from `growth.json`; do not edit. `scripts/experiment growth --page` regenerates it.

Three arms, the same settings in all of them:

- **(a) small**: the host alone.
- **(b) grown**: the same host, to which the heuristic policy adds modules while it trains.
- **(c) static**: the final network of (b) with the same seed, all its modules present from the start (`host.modules`), freshly
  initialised. It has (b)'s parameter count exactly.

(a) and (c) are trained twice: for as many epochs as (b), and for as many as fit into the training time of (b) (**equal time**). The learning
rate follows one cosine to zero over each run's own budget. Time is the training thread's wall clock without start-up and without writing
checkpoints; it includes validation after each epoch for all arms, and for (b) all costs of growing: trials, grafts, decisions.

Each seed draws its own training, validation and test part as well as its own weights and order of batches; the arms of one seed share
them. The policy and its gates use the validation part. The test part is read once, by `esper evaluate`, after the last step of a run; no
epoch and no checkpoint was chosen by it. The choice of settings is described at the end. Accuracies below are on the test part, in percent.

Intervals are 95 % Student's t intervals over the seeds. Differences are taken seed by seed first (paired), in percentage points; "shown"
means that Student's t test excludes 0 after Holm's correction for all comparisons on this page (p below 0.05). {seeds_note}
"""

CAVEATS = """## What this does not say

- The hosts are small on purpose and the runs are short. The results do not cover large networks or long runs.
- {seeds} seeds make wide intervals: "not shown" is not "equal".
- (c) is given its network. Finding it took (b) one run; a search over static networks would have cost more than one.
- One policy with its default settings. What may grow where is set (`growth.slots`, `growth.blueprints`).
- The learning rate and the hosts were chosen before, for all arms together. The defaults of growth were chosen on the validation part of CIFAR-10
  small with seeds 101 to 103, where test figures were seen as well; the test images of CIFAR-10 are the same for all seeds. Seeds below 21 belong to earlier versions of this
  page, on which growing lost. The third data set was not looked at before its runs.
- Time is that of the eager lane on the processor named above; with another lane or device the equal-time rows would differ.
"""


def percent(summary):
    return f"{100 * summary['mean']:.2f} ± {100 * summary['half']:.2f}"


def column(records, arm, field):
    return [of_seed[arm][field] for of_seed in records]


def summarise(records):
    """Of a list with one {arm: record} for each seed: every figure that page and README quote."""
    arms = {arm: {"test_accuracy": interval(column(records, arm, "test_accuracy")),
                  "train_s": interval(column(records, arm, "train_s")),
                  "parameters": interval(column(records, arm, "parameters"))} for arm in ARMS}
    ours = column(records, "grown", "test_accuracy")
    return {"arms": arms, "differences": {rival: paired(ours, column(records, rival, "test_accuracy")) for rival in RIVALS}}


def summaries_of(report):
    """By data set; p corrected for all comparisons of all of them."""
    summaries = {name: summarise(report[name]["records"]) for name in TITLES if name in report}
    differences = [difference for summary in summaries.values() for difference in summary["differences"].values()]
    for difference, corrected in zip(differences, holm([difference["p"] for difference in differences])):
        difference["p"] = corrected
    return summaries


def arm_rows(records, summary):
    for arm in ARMS:
        figures = summary["arms"][arm]
        yield (f"| {ARMS[arm]} | {spread(column(records, arm, 'epochs'), '{}')} | {figures['train_s']['mean']:.1f} "
               f"| {spread(column(records, arm, 'parameters'), '{}')} | {percent(figures['test_accuracy'])} |")


def said(difference):
    return {1: "grown is better: shown", -1: "grown is worse: shown", 0: "not shown"}[verdict(difference)]


def difference_rows(summary):
    for rival, difference in summary["differences"].items():
        ties = f", {difference['ties']} equal" if difference["ties"] else ""
        yield (f"| (b) - {SHORT[rival]} | {signed(difference, '{:+.2f}', 100)} "
               f"| {difference['p']:.3g} | {difference['wins']} of {difference['n']}{ties} | {said(difference)} |")


def seed_rows(records):
    for of_seed in records:
        grown = of_seed["grown"]
        accuracies = " | ".join(f"{100 * of_seed[arm]['test_accuracy']:.2f}" for arm in ARMS)
        unfinished = f"; at the end still {', '.join(grown['unfinished'])}" if grown["unfinished"] else ""
        yield f"| {grown['seed']} | {accuracies} | {', '.join(grown['modules']) or 'nothing'}{unfinished} |"


def environment_lines(entry):
    yield machine(entry["environment"])
    clock = busiest(record for of_seed in entry["records"] for record in of_seed.values())
    if clock > BUSY:
        yield (f"**The machine had other work**: in the worst run the clock ran {clock:.2f} times as long as the processor worked, so the "
               "times and what \"equal time\" comes to are rough. Accuracies at equal epochs are not touched by it.")


def section(name, entry, summary):
    records = entry["records"]
    data = entry["data"]
    yield f"## {TITLES[name]}"
    yield ""
    yield (f"{data['train']} training, {data['validation']} validation and {data['test']} test samples; "
           f"settings: `{entry['config']}`; {len(records)} seeds.")
    yield from ("", *environment_lines(entry), "")
    yield "| arm | epochs | time, s | parameters | test accuracy, % |"
    yield "|---|---|---|---|---|"
    yield from arm_rows(records, summary)
    yield from ("", "| difference | mean, points | 95 % interval | p | grown ahead in | |", "|---|---|---|---|---|---|")
    yield from difference_rows(summary)
    yield from ("", "Test accuracy seed by seed, and what grew:", "")
    yield "| seed | " + " | ".join(SHORT[arm] for arm in ARMS) + " | grown modules |"
    yield "|---" * (len(ARMS) + 2) + "|"
    yield from seed_rows(records)
    yield ""


def markdown(report):
    fewest = min(len(entry["records"]) for entry in report.values())
    lines = [INTRODUCTION.format(seeds_note=few_seeds(fewest))]
    summaries = summaries_of(report)
    for name in TITLES:
        if name in report:
            lines.extend(section(name, report[name], summaries[name]))
    lines.append(CAVEATS.format(seeds=fewest))
    lines.extend(again(entry["command"] for entry in report.values()))
    return "\n".join(lines).rstrip() + "\n"


def readme(report):
    """The lines that the README may quote: a table and one sentence for each comparison."""
    summaries = summaries_of(report)
    yield "| test accuracy, %, mean ± 95 % interval | " + " | ".join(TITLES[name] for name in summaries) + " |"
    yield "|---" * (len(summaries) + 1) + "|"
    for arm in ARMS:
        yield f"| {ARMS[arm]} | " + " | ".join(percent(summary["arms"][arm]["test_accuracy"]) for summary in summaries.values()) + " |"
    for name, summary in summaries.items():
        parameters = {arm: summary["arms"][arm]["parameters"]["mean"] for arm in ("small", "grown")}
        yield ""
        yield f"{TITLES[name]}: {parameters['small']:.0f} parameters at the start, {parameters['grown']:.0f} on average when grown. Grown minus ..."
        for rival, difference in summary["differences"].items():
            yield (f"- {SHORT[rival]}: {100 * difference['mean']:+.2f} points [{100 * difference['low']:+.2f}, "
                   f"{100 * difference['high']:+.2f}], {said(difference)}")
