"""What scripts/experiment plans, and what the pages of deepen, size-search and evidence conclude, on records worked out by hand."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts/experiments"))
import deepen  # noqa: E402
import deepen_page  # noqa: E402
import evidence_page  # noqa: E402
import figures  # noqa: E402
import grafts  # noqa: E402
import size_search  # noqa: E402
import size_search_page  # noqa: E402

ENVIRONMENT = {"cpu": "a processor", "cores": 2, "device": "cpu", "threads": 1, "lane": "replay", "torch": "2", "esper": "0.1",
               "date": "2026-01-01", "minutes": 3}


def near(value, expected, tolerance):
    assert abs(value - expected) <= tolerance, f"{value} is not {expected}"


# McNemar: 2 * (1 + 5) / 32 for 4 against 1; nothing differs, nothing shown.
near(figures.sign_test(4, 1), 0.375, 1e-12)
near(figures.sign_test(8, 0), 2 / 256, 1e-12)
assert figures.sign_test(0, 0) == 1

# deepen: costs are found again from times that they made, and a plan meets its budget.
START, AT = 4, 30
true = {"static2": (0.1, 0.001), "static4": (0.2, 0.002), "static8": (0.4, 0.004)}
measured = {arm: [(10, steps, fixed + 10 * steps * step) for steps in (10, 60)] for arm, (fixed, step) in true.items()}
measured["grown"] = [(10, steps, 0.5 + 3 * steps * 0.002 + 7 * steps * 0.005) for steps in (10, 60)]
costs = deepen.cost_model(measured, START, AT)
near(costs["static8"][1], 0.004, 1e-9)
for value, expected in zip(costs["grown"], (0.5, 0.002, 0.005)):
    near(value, expected, 1e-9)
for arm, cost in costs.items():
    for budget in (3.6, 57.6):
        epochs, steps = deepen.plan(cost, AT, budget)
        assert epochs in deepen.EPOCHS
        near(deepen.predicted_s(cost, AT, epochs, steps) / budget, 1, 0.02)


def trained(loss, time, curve=()):
    return {"train_s": 2 * (time + 1), "validation_s": 2, "wall_over_cpu": 2, "test_loss": loss, "validation_loss": loss, "steps": 10,
            "curve": curve or [[time, loss]]}


def deepened(shift, reached=2.0):
    """Two budgets of 1 and 4 units: the grown run's losses are `shift` above those of the best static depth."""
    return {"esper": "0.1", "runs": {
        "1": {"static2": trained(2.5, 1), "static8": trained(2.9, 1), "grown": trained(2.5 + shift, 1)},
        "4": {"static2": trained(2.3, 4), "static8": trained(2.1, 4), "grown": trained(2.1 + shift, 4, [[1, 2.4], [2, reached], [4, 2.1 + shift]])}}}


def deepen_entry(*seeds):
    return {"config": "c.yaml", "command": "scripts/experiment deepen", "unit_s": 1, "jobs": 2, "batch": 8, "start": 4, "at_percent": 30,
            "blueprint": "copy_block", "environment": ENVIRONMENT, "seeds": {str(31 + i): seed for i, seed in enumerate(seeds)}}


won = deepen_entry(*(deepened(shift) for shift in (-0.05, -0.051, -0.049, -0.05, -0.052)))
summary = deepen_page.summarise(won)
assert [figures_of["best"] for figures_of in summary["budgets"].values()] == ["static2", "static8"]
assert summary["ratios"]["4"]["values"] == [0.5] * 5  # after 2 of 4
assert summary["ratios"]["1"]["values"] == [1.0] * 5
text = deepen_page.markdown(won)
assert "| 4 | 8 layers | -0.0504 |" in text and "grown is better: shown; within 0.01: shown" in text, text
assert "within 0.0 % of its budget" in text and "| 4 | 0.50 [0.50, 0.50] |" in text, text
lost = deepen_entry(*(deepened(shift, reached=3) for shift in (0.05, 0.051)))
text = deepen_page.markdown(lost)
assert "reached by 0 of 2 seeds" in text and "not within 0.01" in text and "Only 2 seeds" in text, text
assert "± inf" in deepen_page.markdown(deepen_entry(deepened(0.1)))  # after the first of several seeds
lost["unit_s"] = 0.9
assert "is up to 11.1 % off its budget" in deepen_page.markdown(lost)
assert any("grown, 4 to 8 layers" in line for line in deepen_page.readme(won))

# size-search: epochs are shortened where the budget is no multiple of them, and validation alone chooses.
assert size_search.plan(1.0, 2.5, 900, 64) == (3, 750) and size_search.plan(1.0, 3.0, 900, 64) == (3, 900)
assert size_search.plan(10.0, 0.1, 900, 64) == (1, 64)


def searched(accuracy, validation, time=1.0, size="a"):
    return {"test_accuracy": accuracy, "validation_accuracy": validation, "validation_loss": 1, "train_s": 2 * time, "wall_over_cpu": 2, "size": size,
            "modules": []}


assert size_search.best_of([searched(0.9, 0.5), searched(0.1, 0.6, size="b")])["size"] == "b"
seeds = {str(31 + i): {"esper": "0.1", "grown": {**searched(0.9 + i / 1000, 0.9, 4), "modules": ["r0c0=mlp"]},
                       **{arm: {"chosen": searched(0.8, 0.8), "tried": [searched(0.8, 0.8)] * tried}
                          for arm, tried in (("quarters", 4), ("halving", 5))}} for i in range(5)}
report = {"digits": {"config": "c.yaml", "command": "scripts/experiment size-search", "sizes": ["a", "b"], "environment": ENVIRONMENT,
                     "data": {"train": 3, "validation": 2, "test": 1}, "seeds": seeds}}
text = size_search_page.markdown(report)
assert "| quarters | +10.20 |" in text and "grown is better: shown" in text and "a: 5 |" in text, text
assert "took 25.0 % more or less" in text, text


# evidence: what the truth is, and which decisions are errors.
def truth(loss, accuracy=(-1, 1), present=True):
    return {"loss": dict(zip(("mean", "low", "high"), (sum(loss) / 2, *loss))), "accuracy": dict(zip(("low", "high"), accuracy)), "present": present}


HELPS, NOTHING, HARMS = truth((0.1, 0.2)), truth((-0.1, 0.2)), truth((-0.2, -0.1))
assert [evidence_page.truth_of(known) for known in (HELPS, NOTHING, HARMS)] == ["helps", "undecided", "harms"]
assert evidence_page.truth_of(truth((0.1, 0.2), (-0.2, -0.1))) == "undecided"  # one better, the other worse
assert evidence_page.truth_of(truth((-0.1, 0.2), (0.1, 0.2))) == "helps"
assert evidence_page.truth_of(truth((0.1, 0.2), present=False)) == "undecided"


def graft(known, today, mended):
    return {"task": "digits", "graft": "r0c0=norm", "epoch": 3, "esper": "0.1", "truths": {"blended": known, "straight": known},
            "verdicts": {"straight_ablation": {"kept": today}, "blended_ablation": {"kept": today}, "blended_control": {"kept": mended}}}


listed = [graft(HELPS, False, True), graft(NOTHING, True, False), graft(HARMS, True, False), graft(HARMS, True, True), graft(HELPS, True, True)]
entry = {"configs": ["c.yaml"], "command": "scripts/experiment evidence", "epochs": {"digits": 30}, "control_budget": 0.3,
         "environment": ENVIRONMENT, "grafts": {str(31 + i): one for i, one in enumerate(listed)}}
summary = evidence_page.summarise(entry)
today, mended = (summary["verdicts"][name] for name in ("straight_ablation", "blended_control"))
assert (today["false_keeps"], today["false_culls"], today["decided_errors"]) == (3, 1, 3), today
assert (mended["false_keeps"], mended["false_culls"], mended["errors"]) == (1, 0, 1), mended
near(summary["against"]["straight_ablation"]["share"], 0.25, 1e-12)
text = evidence_page.markdown(entry)
assert "25 % of its errors; at most a third: reached; fewer: not shown" in text and "kept (false keep)" in text and "- (false cull)" in text, text
assert len(grafts.GRAFTS) == 40 == len(set(grafts.GRAFTS))
