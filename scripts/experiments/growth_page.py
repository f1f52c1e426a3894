"""docs/experiments/growth.md and the lines for the README, made from growth.json alone."""
import statistics
from collections import Counter

import accuracies
from accuracies import TITLES, training_s
from arms import ARMS
from figures import interval, paired
from frame import PROCESSOR_TIMES, few_seeds, machine, other_work, page
from tables import spread, table

SHORT = {"small": "(a) small, equal epochs", "small_time": "(a) small, equal time", "grown": "(b) grown",
         "static": "(c) static, equal epochs", "static_time": "(c) static, equal time", "grown_control": "(d) grown, controls",
         "small_control": "(a') small, averaged, equal time", "static_control": "(c') static, averaged, equal time"}
RIVALS = {"grown": ("small", "small_time", "static", "static_time"), "grown_control": ("small_control", "static_control")}
EQUAL_EPOCHS = ("small", "static")  # of the rivals; the others get the grown run's time

INTRODUCTION = """The arms; where nothing else is said their settings are the same:

- **(a) small**: the host alone.
- **(b) grown**: the same host, to which the heuristic policy adds modules while it trains.
- **(c) static**: the final network of (b) with the same seed, all its modules present from the start (`host.modules`), freshly
  initialised. It has (b)'s parameter count exactly.
{with_controls}
(a) and (c) are trained twice: for as many epochs as (b), and for as many as fit into the training time of (b) (**equal time**). The learning
rate follows one cosine to zero over each run's own budget. Time is the processor time of the training process without start-up and
checkpoints; it includes validation after each epoch for all arms, and for (b) all costs of growing: trials, grafts, decisions.

Each seed draws its own training, validation and test part as well as its own weights and order of batches; the arms of one seed share
them. The policy and its gates use the validation part. The test part is read once, by `esper evaluate`, after the last step of a run; no
epoch and no checkpoint was chosen by it. The choice of settings is described at the end. Accuracies below are on the test part, in percent.

Intervals are 95 % Student's t intervals over the seeds. Differences are taken seed by seed first (paired), in percentage points; "shown"
means that Student's t test excludes 0 after Holm's correction for all comparisons on this page (p below 0.05). {seeds_note}
"""

WITH_CONTROLS = """- **(d) grown with controls**: as (b), with `growth.gates.evidence: control`. Before a module is grafted, the network without it is trained for the next
  epochs on the same batches, and the module is kept only where it is shown to be worth something against that. All controls together get a tenth of
  the run's steps (`growth.control.budget`), in addition to them; their time counts as (d)'s.
- **(a') and (c')**: what (d) is compared with, in the time that (d) took: the host alone, and the network that (d) ended with from the start. Where (d) kept
  nothing these are the same, and one run is both.

With controls a run's parameters are averaged (`training.ema_decay: 0.97`, an exponential moving average), and validation and test see the averages. That
alone can raise the accuracy, and it costs time. So (a') and (c') average, too, and how many of their epochs fit into the time was measured with it, in a run for
each that has (d)'s epochs and is not shown. (d) is not compared with (a) to (c), which do not average.
"""

CAVEATS = """- The hosts are small on purpose and the runs are short. The results do not cover large networks or long runs.
- {seeds} seeds make wide intervals: "not shown" is not "equal".
- (c) is given its network. Finding it took (b) one run; a search over static networks would have cost more than one.
- One policy with its default settings. What may grow where is set (`growth.slots`, `growth.blueprints`).
- The learning rate and the hosts were chosen before, for all arms together. The defaults of growth were chosen on the validation part of CIFAR-10
  small with seeds 101 to 103, where test figures were seen as well; the test images of CIFAR-10 are the same for all seeds. Seeds below 21 belong to earlier versions of this
  page, on which growing lost. The third data set was not used before its runs.
- Time is that of the eager lane on the processor named above; with another lane or device the equal-time rows would differ.
- The figures are those of the commit named with them. A new call may grow other modules.
"""


def arms_in(entry):
    return accuracies.arms_in(ARMS, entry["records"])


def column(records, arm, field):
    return [of_seed[arm][field] for of_seed in records]


def summary_of(entry):
    """Every figure of one data set that page and README quote."""
    records, arms = entry["records"], arms_in(entry)
    figures = {arm: {"test_accuracy": interval(column(records, arm, "test_accuracy")), "parameters": interval(column(records, arm, "parameters")),
                     "training_s": interval([training_s(of_seed[arm]) for of_seed in records])} for arm in arms}
    differences = {rival: paired(column(records, grown, "test_accuracy"), column(records, rival, "test_accuracy"))
                   for grown, rivals in RIVALS.items() if grown in arms for rival in rivals}
    return {"arms": figures, "differences": differences}


def summarise(report):
    return accuracies.summaries_of(report, summary_of)


def arm_cells(records, arm, figures):
    return (ARMS[arm], spread(column(records, arm, "epochs"), "{}"), f"{figures['training_s']['mean']:.1f}",
            spread(column(records, arm, "parameters"), "{}"), accuracies.percent(figures["test_accuracy"]))


def what_grew(record):
    removed = (Counter(record.get("grew", ())) - Counter(record["modules"])).elements()
    listed = (("", record["modules"] or ["nothing"]), ("not kept: ", list(removed)), ("at the end still ", record["unfinished"]))
    return "; ".join(prefix + ", ".join(them) for prefix, them in listed if them)


def seed_cells(of_seed, arms):
    return (of_seed["grown"]["seed"], *(f"{100 * of_seed[arm]['test_accuracy']:.2f}" for arm in arms),
            *(what_grew(of_seed[arm]) for arm in RIVALS if arm in arms))


def letter(arm):
    return SHORT[arm].partition(" ")[0]


def differences_of(grown, summary):
    """By the rival's name."""
    return {SHORT[rival]: difference for rival, difference in summary["differences"].items() if rival in RIVALS[grown]}


def time_line(records, arms):
    """How equal equal time was: whole epochs, and an epoch does not always take the same."""
    ratios = [[training_s(of_seed[rival]) / training_s(of_seed[grown]) for of_seed in records]
              for grown, rivals in RIVALS.items() if grown in arms for rival in rivals if rival not in EQUAL_EPOCHS]
    return (f"Equal time was {spread([statistics.fmean(of_arm) for of_arm in ratios], '{:.2f}')} of the grown run's on average, in single runs "
            f"{spread([ratio for of_arm in ratios for ratio in of_arm], '{:.2f}')}.")


def section(name, entry, summary):
    records, arms = entry["records"], arms_in(entry)
    every_run = (record for of_seed in records for record in of_seed.values())
    yield from (*accuracies.head(name, entry, len(records)), machine(entry["environment"]), time_line(records, arms),
                *other_work(every_run, PROCESSOR_TIMES), "")
    yield from table(("arm", "epochs", "time, s", "parameters", "test accuracy, %"),
                     (arm_cells(records, arm, figures) for arm, figures in summary["arms"].items()))
    yield ""
    yield from accuracies.difference_table("difference", {f"{letter(grown)} - {rival}": difference for grown in RIVALS
                                                          for rival, difference in differences_of(grown, summary).items()})
    yield from ("", "Test accuracy seed by seed, and what grew:", "")
    yield from table(("seed", *(SHORT[arm] for arm in arms), *(f"modules of {letter(arm)}" for arm in RIVALS if arm in arms)),
                     (seed_cells(of_seed, arms) for of_seed in records))


def markdown(report):
    fewest = min(len(entry["records"]) for entry in report.values())
    with_controls = WITH_CONTROLS if any("grown_control" in arms_in(entry) for entry in report.values()) else ""
    introduction = INTRODUCTION.format(seeds_note=few_seeds(fewest), with_controls=with_controls)
    sections = accuracies.sections(report, summarise(report), section)
    return page("Does growing pay?", "growth", [introduction, *sections], CAVEATS.format(seeds=fewest), [entry["command"] for entry in report.values()])


def readme(report):
    """The lines that the README may quote: a table and one sentence for each comparison."""
    summaries = summarise(report)
    yield from accuracies.readme_table(ARMS, {name: summary["arms"] for name, summary in summaries.items()})
    for name, summary in summaries.items():
        parameters = {arm: f"{figures['parameters']['mean']:.0f}" for arm, figures in summary["arms"].items()}
        yield from ("", f"{TITLES[name]}: {parameters['small']} parameters at the start, {parameters['grown']} on average when grown. Grown minus ...",
                    *accuracies.readme_differences(differences_of("grown", summary)))
        if "grown_control" in parameters:
            yield from ("", f"{TITLES[name]}, with a control for each seed: {parameters['grown_control']} parameters on average. (d) minus ...",
                        *accuracies.readme_differences(differences_of("grown_control", summary)))
