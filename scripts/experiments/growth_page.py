"""docs/experiments/growth.md and the lines for the README, made from growth.json alone."""
import accuracies
from accuracies import TITLES
from arms import ARMS
from figures import interval, paired
from frame import few_seeds, machine, other_work, page
from tables import spread, table

SHORT = {"small": "(a) small, equal epochs", "small_time": "(a) small, equal time", "grown": "(b) grown",
         "static": "(c) static, equal epochs", "static_time": "(c) static, equal time"}
RIVALS = ("small", "small_time", "static", "static_time")
ROUGH = ", so the times and what \"equal time\" comes to are rough. Accuracies at equal epochs are not touched by it."

INTRODUCTION = """Three arms, the same settings in all of them:

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

CAVEATS = """- The hosts are small on purpose and the runs are short. The results do not cover large networks or long runs.
- {seeds} seeds make wide intervals: "not shown" is not "equal".
- (c) is given its network. Finding it took (b) one run; a search over static networks would have cost more than one.
- One policy with its default settings. What may grow where is set (`growth.slots`, `growth.blueprints`).
- The learning rate and the hosts were chosen before, for all arms together. The defaults of growth were chosen on the validation part of CIFAR-10
  small with seeds 101 to 103, where test figures were seen as well; the test images of CIFAR-10 are the same for all seeds. Seeds below 21 belong to earlier versions of this
  page, on which growing lost. The third data set was not looked at before its runs.
- Time is that of the eager lane on the processor named above; with another lane or device the equal-time rows would differ.
"""


def column(records, arm, field):
    return [of_seed[arm][field] for of_seed in records]


def summary_of(entry):
    """Every figure of one data set that page and README quote."""
    records = entry["records"]
    figures = {arm: {field: interval(column(records, arm, field)) for field in ("test_accuracy", "train_s", "parameters")} for arm in ARMS}
    ours = column(records, "grown", "test_accuracy")
    return {"arms": figures, "differences": {rival: paired(ours, column(records, rival, "test_accuracy")) for rival in RIVALS}}


def summarise(report):
    return accuracies.summaries_of(report, summary_of)


def arm_cells(records, arm, figures):
    return (ARMS[arm], spread(column(records, arm, "epochs"), "{}"), f"{figures['train_s']['mean']:.1f}",
            spread(column(records, arm, "parameters"), "{}"), accuracies.percent(figures["test_accuracy"]))


def seed_cells(of_seed):
    grown = of_seed["grown"]
    unfinished = f"; at the end still {', '.join(grown['unfinished'])}" if grown["unfinished"] else ""
    return (grown["seed"], *(f"{100 * of_seed[arm]['test_accuracy']:.2f}" for arm in ARMS),
            f"{', '.join(grown['modules']) or 'nothing'}{unfinished}")


def section(name, entry, summary):
    records = entry["records"]
    every_run = (record for of_seed in records for record in of_seed.values())
    yield from (*accuracies.head(name, entry, len(records)), machine(entry["environment"]), *other_work(every_run, ROUGH), "")
    yield from table(("arm", "epochs", "time, s", "parameters", "test accuracy, %"),
                     (arm_cells(records, arm, figures) for arm, figures in summary["arms"].items()))
    yield ""
    yield from accuracies.difference_table("difference", {f"(b) - {SHORT[rival]}": found for rival, found in summary["differences"].items()})
    yield from ("", "Test accuracy seed by seed, and what grew:", "")
    yield from table(("seed", *(SHORT[arm] for arm in ARMS), "grown modules"), map(seed_cells, records))


def markdown(report):
    fewest = min(len(entry["records"]) for entry in report.values())
    introduction = INTRODUCTION.format(seeds_note=few_seeds(fewest))
    sections = accuracies.sections(report, summarise(report), section)
    return page("Does growing pay?", "growth", [introduction, *sections], CAVEATS.format(seeds=fewest), [entry["command"] for entry in report.values()])


def readme(report):
    """The lines that the README may quote: a table and one sentence for each comparison."""
    summaries = summarise(report)
    yield from accuracies.readme_table(ARMS, {name: summary["arms"] for name, summary in summaries.items()})
    for name, summary in summaries.items():
        parameters = {arm: summary["arms"][arm]["parameters"]["mean"] for arm in ("small", "grown")}
        yield from ("", f"{TITLES[name]}: {parameters['small']:.0f} parameters at the start, {parameters['grown']:.0f} on average when grown. "
                        "Grown minus ...")
        yield from accuracies.readme_differences({SHORT[rival]: difference for rival, difference in summary["differences"].items()})
