"""docs/experiments/evidence.md and the lines for the README, made from evidence.json alone."""
from accuracies import TITLES
from figures import correct, sign_test
from frame import machine, page
from tables import mean_and_ends, table

# Each with the form of training in which the seed's worth is known.
VERDICTS = {"straight_ablation": "straight", "blended_ablation": "blended", "blended_control": "blended"}
NAMES = {"straight_ablation": "ablation, straight-through (the gates before)", "blended_ablation": "ablation, blended", "blended_control": "control, blended"}
TODAY, MENDED = ("straight_ablation", "blended_ablation"), "blended_control"
WANTED = 1 / 3
TRUTHS = ("helps", "undecided", "harms")

INTRODUCTION = """{count} grafts of which the truth is known: good ones and useless ones, early and too late, with fitting and with wrong learning rates, in hosts that are too small
and in hosts that are large enough (`scripts/experiments/grafts.py`; the list was fixed before any was run). Each has its own seed, which draws the training, validation and test part.

**The truth** is a control trained to the end: one run in which the graft is made and kept whatever is measured, and the same run without it: the same batches, the
same random numbers, as many steps. The two final networks are compared sample by sample on the test part, which no gate sees. The seed *helps* if loss or share of right
answers is shown to be better (95 % interval over the samples) and the other is not shown to be worse, *harms* the other way round, and else the truth is *undecided*: no difference, or one in
either direction. A seed that straight-through trained is compared with the kept run in which straight-through trained it.

**The verdict** is what a run decides by its gates, all else equal: kept, if the final network contains the seed. `growth.gates.evidence: ablation` asks for the drop when the seed is switched
off; `control` for its worth against a network that trained without it, with `growth.control.budget: {budget}`.

**Errors** were defined before the runs: a *false keep* is a seed that is kept without being shown to help (one that does nothing costs its time), a *false cull* is one that helps and is not
in the final network. The stricter count leaves the undecided out: then only a kept seed that harms is a false keep.
"""

CAVEATS = """- One pair of runs for each graft: the interval covers the samples, not that two trainings of one network end apart. A small difference may be shown and be chance.
- The networks are small and the runs short. Which share of grafts helps is the list's, so the number of errors is that of this list.
- Gates at their defaults; thresholds were not tuned on these grafts.
"""


def direction(figure):
    return (figure["low"] > 0) - (figure["high"] < 0)


def truth_of(truth):
    """One of TRUTHS."""
    loss, accuracy = direction(truth["loss"]), direction(truth["accuracy"])
    if loss * accuracy < 0 or loss == accuracy == 0 or not truth["present"]:
        return "undecided"
    return "helps" if loss + accuracy > 0 else "harms"


def error_of(graft, verdict):
    """'keep', 'cull' or nothing, with the truth."""
    known, is_kept = truth_of(graft["truths"][VERDICTS[verdict]]), graft["verdicts"][verdict]["kept"]
    error = "keep" if is_kept and known != "helps" else "cull" if not is_kept and known == "helps" else ""
    return error, known


def errors_of(grafts, verdict):
    found = [error_of(graft, verdict) for graft in grafts]
    counts = {known: {"kept": 0, "not": 0} for known in TRUTHS}
    for graft, (_, known) in zip(grafts, found):
        counts[known]["kept" if graft["verdicts"][verdict]["kept"] else "not"] += 1
    keeps, culls = (sum(error == kind for error, _ in found) for kind in ("keep", "cull"))
    strict = [bool(error) and known != "undecided" for error, known in found]
    return {"counts": counts, "false_keeps": keeps, "false_culls": culls, "errors": keeps + culls, "decided_errors": sum(strict),
            "wrong": [bool(error) for error, _ in found]}


def summarise(entry):
    grafts = list(entry["grafts"].values())
    summary = {"count": len(grafts), "verdicts": {verdict: errors_of(grafts, verdict) for verdict in VERDICTS}, "against": {}}
    ours = summary["verdicts"][MENDED]
    for rival in TODAY:
        theirs = summary["verdicts"][rival]
        better, worse = (sum(a and not b for a, b in zip(one, other)) for one, other in
                         ((theirs["wrong"], ours["wrong"]), (ours["wrong"], theirs["wrong"])))
        summary["against"][rival] = {"mended": better, "new": worse, "p": sign_test(better, worse),
                                     "share": ours["errors"] / theirs["errors"] if theirs["errors"] else None}
    correct(summary["against"].values())
    return summary


def count_rows(summary):
    for verdict, figures in summary["verdicts"].items():
        yield NAMES[verdict], *(f"{figures['counts'][known]['kept']} / {figures['counts'][known]['not']}" for known in TRUTHS), *error_cells(figures)


def error_cells(figures):
    return [figures[name] for name in ("false_keeps", "false_culls", "errors", "decided_errors")]


def said(test):
    if test["share"] is None:
        return "the rival made none"
    reached = f"at most a third: {'reached' if test['share'] <= WANTED else 'not reached'}"
    return f"{100 * test['share']:.0f} % of its errors; {reached}; fewer: {'shown' if test['p'] < 0.05 and test['mended'] > test['new'] else 'not shown'}"


def against_rows(summary):
    for rival, test in summary["against"].items():
        yield NAMES[rival], test["mended"], test["new"], f"{test['p']:.3g}", said(test)


def decision(graft, verdict):
    error, _ = error_of(graft, verdict)
    return ("kept" if graft["verdicts"][verdict]["kept"] else "-") + (f" (false {error})" if error else "")


def truth_cell(truth):
    return f"{truth_of(truth)}: {', '.join(mean_and_ends(truth['loss'], '{:+.3f}'))}"


def graft_rows(entry):
    for seed, graft in entry["grafts"].items():
        yield (seed, f"{TITLES[graft['task']]}: {graft['graft']}, after epoch {graft['epoch']}",
               *(truth_cell(graft["truths"][form]) for form in ("blended", "straight")), *(decision(graft, verdict) for verdict in VERDICTS))


def body(entry, summary):
    epochs = ", ".join(f"{TITLES[task]} {count}" for task, count in entry["epochs"].items())
    yield INTRODUCTION.format(count=summary["count"], budget=entry["control_budget"])
    yield from (f"Settings: {', '.join(f'`{config}`' for config in entry['configs'])}; epochs: {epochs}.", "",
                machine(entry["environment"], entry["grafts"].values()), "", "## Errors", "")
    yield from table(("evidence", *(f"{known}: kept / not" for known in TRUTHS), "false keeps", "false culls", "errors", "without the undecided"),
                     count_rows(summary))
    yield ""
    yield from table(("control against", "its errors that control does not make", "errors that only control makes", "p", ""), against_rows(summary))
    yield from ("", "p is McNemar's exact test, corrected for both comparisons (Holm).", "", "## Graft by graft", "",
                "The truth with the gain in test loss (above 0: the seed helps) and its 95 % interval, then each gate's decision.", "")
    yield from table(("seed", "graft", "truth, blended", "truth, straight-through", *(NAMES[verdict] for verdict in VERDICTS)), graft_rows(entry))
    yield ""


def markdown(entry):
    return page("Do the gates decide rightly?", "evidence", body(entry, summarise(entry)), CAVEATS, [entry["command"]])


def readme(entry):
    """The lines that the README may quote."""
    summary = summarise(entry)
    yield from table(("what a seed is judged by", "false keeps", "false culls", f"errors of {summary['count']}", "without the undecided"),
                     ((NAMES[verdict], *error_cells(figures)) for verdict, figures in summary["verdicts"].items()))
    yield ""
    for rival, test in summary["against"].items():
        yield f"Control against {NAMES[rival]}: {said(test)} (p = {test['p']:.3g})."
