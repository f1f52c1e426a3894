"""The statistics and the page of scripts/experiment: known quantiles, intervals worked out by hand, and a page that says
which way it came out."""
import io
import json
import pathlib
import shutil
import sys
import tarfile
import types

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts/experiments"))
import arms  # noqa: E402
import runs  # noqa: E402
import datasets  # noqa: E402
import figures  # noqa: E402
import growth_page  # noqa: E402
import tables  # noqa: E402


def near(value, expected, tolerance):
    assert abs(value - expected) <= tolerance, f"{value} is not {expected}"


def record(seed, accuracy, parameters=100, **more):
    return {"seed": seed, "epochs": 10, "train_s": 2.0, "wall_over_cpu": 1.0, "parameters": parameters, "modules": [], "unfinished": [],
            "test_accuracy": accuracy, **more}


def records(grown, static):
    return [{"small": record(i, 0.5), "small_time": record(i, 0.6), "grown": record(i, b, 400, modules=["r0c0=mlp"]),
             "static": record(i, c, 400), "static_time": record(i, c, 400)} for i, (b, c) in enumerate(zip(grown, static), 1)]


def entry(of_seeds):
    return {"config": "configs/x.yaml", "command": "scripts/experiment growth --dataset digits --seeds 5", "records": of_seeds,
            "data": {"train": 3, "validation": 2, "test": 1},
            "environment": {"cpu": "a processor", "cores": 2, "device": "cpu", "threads": 1, "lane": "eager", "torch": "2", "esper": "0.1",
                            "date": "2026-01-01", "minutes": 3}}


# Student's t, two-sided 95 %: any statistics table.
for degrees, quantile in ((1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)):
    near(figures.t_quantile(degrees), quantile, 1e-4)
near(figures.t_quantile(4, 0.99), 4.6041, 1e-4)

one_to_five = figures.interval([1, 2, 3, 4, 5])  # deviation sqrt(2.5), error of the mean sqrt(0.5)
near(one_to_five["mean"], 3, 1e-12)
near(one_to_five["half"], 2.7764451 * 0.5**0.5, 1e-6)
difference = figures.paired([3, 5, 5], [1, 2, 5])
assert (difference["mean"], difference["wins"], difference["ties"]) == (5 / 3, 2, 1), difference
assert figures.verdict(difference) == 0  # 5/3 +- 3.8
assert figures.verdict(figures.paired([3.0, 4.1, 5], [1, 2, 3])) == 1
assert figures.verdict(figures.paired([1, 2, 3], [3.0, 4.1, 5])) == -1
near(figures.p_value([1, 2, 3, 4, 5]), 0.013236, 1e-5)  # t = 4.2426 with 4 degrees of freedom
assert figures.p_value([0, 0]) == 1 and figures.p_value([2, 2]) == 0
for corrected, expected in zip(figures.holm([0.01, 0.04, 0.03]), (0.03, 0.06, 0.06)):
    near(corrected, expected, 1e-12)
corrected = [{"p": 0.01}, {"p": 0.04}, {"p": 0.03}]
figures.correct(corrected)
near(corrected[0]["p"], 0.03, 1e-12)
assert figures.interval([2, 2, 2])["half"] == 0
assert figures.interval([2])["high"] == float("inf") and figures.p_value([2]) == 1 and figures.verdict(figures.paired([2], [1])) == 0

# Cells as they are, empty ones too.
assert tables.table(("", "a"), [(0, ""), ("b", 1)]) == ["| | a |", "|---|---|", "| 0 | |", "| b | 1 |"]
assert tables.tested({**difference, "mean": 0.5, "low": 0.25, "high": 0.75, "p": 0.01234}, "{:+.1f}", 100) == ("+50.0", "+25.0 to +75.0", "0.0123")
assert tables.bracketed({"mean": 1, "low": 0, "high": 2}, "{:.1f}", unit=" s") == "1.0 s [0.0, 2.0]"

# A page where growing beats the small host and loses to the static network says both.
grown, static = [0.90, 0.91, 0.92, 0.91, 0.90], [0.93, 0.94, 0.95, 0.95, 0.93]
of_seeds = records(grown, static)
text = growth_page.markdown({"digits": entry(of_seeds)})
assert "| (a) the small host alone, equal epochs | 10 | 2.0 | 100 | 50.00 ± 0.00 |" in text, text
assert "| (b) - (a) small, equal epochs | +40.80 |" in text and "| 5 of 5 | grown is better: shown |" in text, text
assert "| (b) - (c) static, equal epochs | -3.20 |" in text and "| 0 of 5 | grown is worse: shown |" in text, text
assert "| 1 | 50.00 | 60.00 | 90.00 | 93.00 | 93.00 | r0c0=mlp |" in text, text
assert "a first look" not in text and "had other work" not in text
assert "Equal time was 1.00 of the grown run's on average, in single runs 1.00." in text, text
uneven = records(grown[:2], static[:2])
uneven[0]["small_time"]["train_s"] = 3.0
uneven[0]["static_time"]["train_s"] = uneven[1]["static_time"]["train_s"] = 1.0
assert "Equal time was 0.50 to 1.25 of the grown run's on average, in single runs 0.50 to 1.50." in growth_page.markdown({"digits": entry(uneven)})
lines = "\n".join(growth_page.readme({"digits": entry(of_seeds)}))
assert "(c) static, equal epochs: -3.20 points" in lines and "worse: shown" in lines, lines

# Where no seed has (d) nothing is said of it; a data set without it has no rows beside one with it. All comparisons are corrected together.
assert "(d)" not in text and "(d)" not in lines
controlled = [{**of_seed, "grown_control": record(i, 0.92 + i / 1000, 300, modules=["r0c0=mlp"], grew=["r0c1=norm", "r0c0=mlp"]),
               "small_control": record(i, 0.7, epochs=12), "static_control": record(i, 0.9, 300)} for i, of_seed in enumerate(of_seeds, 1)]
controlled[0]["grown_control"].update(modules=[])
both = {"digits": entry(controlled), "cifar10": entry(of_seeds)}
text = growth_page.markdown(both)
assert "- **(d) grown with controls**" in text and text.count("| (d) as (b), with a control for each seed |") == 1, text
assert "| (d) - (a') small, averaged, equal time | +22.30 |" in text and "| (d) - (c') static, averaged, equal time | +2.30 |" in text, text
assert "| r0c0=mlp | nothing; not kept: r0c1=norm, r0c0=mlp |" in text and "| r0c0=mlp | r0c0=mlp; not kept: r0c1=norm |" in text, text
found = growth_page.summarise(both)
assert [len(found[name]["differences"]) for name in ("digits", "cifar10")] == [6, 4]
near(found["digits"]["differences"]["static_control"]["p"], figures.holm([
    figures.paired([of_seed[ours]["test_accuracy"] for of_seed in part], [of_seed[rival]["test_accuracy"] for of_seed in part])["p"]
    for part, grown_arms in ((controlled, ("grown", "grown_control")), (of_seeds, ("grown",)))
    for ours in grown_arms for rival in growth_page.RIVALS[ours]])[5], 1e-12)
lines = "\n".join(growth_page.readme(both))
assert "| (d) as (b), with a control for each seed | 92.30 ± 0.20 | - |" in lines and lines.count("(d) minus ...") == 1, lines

# Few seeds, a busy machine and a seed that was still growing are all said.
few = records(grown[:2], static[:2])
few[0]["grown"].update(wall_over_cpu=1.9, unfinished=["seed-0002 TRAINING"])
text = growth_page.markdown({"digits": entry(few)})
assert "Only 2 seeds: a first look" in text and "had other work" in text and "at the end still seed-0002 TRAINING" in text, text

# A module whose alpha is 0 is not part of the grown network.
summary = {"parameters": 150, "seeds": [{"slot": "r0c0", "blueprint": "mlp", "alpha": 1.0, "params": 40},
                                        {"slot": "r0c1", "blueprint": "norm", "alpha": 0.0, "params": 10}]}
assert [seed["slot"] for seed in runs.heard(summary)] == ["r0c0"] and runs.unheard_parameters(summary) == 10
assert arms.epochs_in(10, {"epochs": 4, "train_s": 3.0, "wall_over_cpu": 1.5}) == 20
assert arms.epochs_in(0.01, {"epochs": 4, "train_s": 2.0, "wall_over_cpu": 1.0}) == 1



class Runs:
    """Instead of a room: an epoch takes 1 s, with averaging 2 s, and growing with controls 3 s."""

    def __init__(self, kept):
        self.kept, self.made = kept, {}

    def run(self, seed, arm, sets, parts, more=None):
        epochs = max(int(pair.partition("=")[2]) for pair in sets if pair.startswith("epochs="))
        pace = 3 if "growth.gates.evidence=control" in sets else 2 if "training.ema_decay=0.97" in sets else 1
        self.made[arm] = {"arm": arm, "set": sets, "epochs": epochs, "train_s": 2.0 * pace * epochs, "wall_over_cpu": 2.0,
                          "modules": self.kept if arm == "grown_control" else []}
        return self.made[arm]


# (d) is compared with networks that average as it does, in its time; the same run is both where it kept nothing.
room = Runs(["r0c0=mlp", "r0c1=norm"])
of_arms = arms.all_arms(room, 21, {}, 10, controls=True)
assert list(of_arms) == list(arms.ARMS) and len(room.made) <= arms.num_runs(controls=True), room.made.keys()
for arm in ("small_control", "static_control"):
    assert of_arms[arm]["epochs"] == 15 and "training.ema_decay=0.97" in of_arms[arm]["set"], of_arms[arm]
    assert "growth.enabled=false" in of_arms[arm]["set"]
assert "host.modules=[r0c0=mlp, r0c1=norm]" in of_arms["static_control"]["set"]
assert not any("ema" in pair for arm in ("small_time", "grown", "static") for pair in of_arms[arm]["set"])
room = Runs([])
of_arms = arms.all_arms(room, 21, {}, 10, controls=True)
assert of_arms["static_control"] == {**of_arms["small_control"], "arm": "static_control"} and "static_control" not in room.made
of_arms = arms.all_arms(Runs([]), 21, {}, 2, controls=False)
assert list(of_arms) == [arm for arm in arms.ARMS if arm not in arms.WITH_CONTROLS]
# Where (b) kept nothing, (c) is (a).
assert of_arms["static"]["set"] == [*of_arms["small"]["set"], "host.modules=[]"] and of_arms["static"]["epochs"] == of_arms["small"]["epochs"] == 2

# What grew is read from the run's events, kept or not.
scratch = pathlib.Path(sys.argv[2])
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True, exist_ok=True)


def stage(slot, to):
    return {"description": "seed_stage", "attributes": {"slot": slot, "blueprint": "mlp", "to": to}}


packets = [{"events": [stage("r0c1", "GERMINATED"), stage("r0c1", "TRAINING")]}, {"events": []},
           {"events": [stage("r0c1", "CULLED"), {"description": "gate_event", "attributes": {}}, stage("r0c0", "GERMINATED")]}]
(scratch / "telemetry.jsonl").write_text("".join(json.dumps(packet) + "\n" for packet in packets))
assert arms.germinated({}, scratch) == {"grew": ["r0c1=mlp", "r0c0=mlp"]}

# Parts are disjoint, whole, and the same for the same seed.
parts = {}
for work in ("one", "two"):
    parts[work] = {name: path.read_text().splitlines() for name, path in
                   datasets.digits_parts(pathlib.Path(sys.argv[1]), scratch / work, 3).items()}
assert parts["one"] == parts["two"]
assert [len(lines) for lines in parts["one"].values()] == [1079, 359, 359]
assert len(set().union(*map(set, parts["one"].values()))) == 1797


# An archive of images is unpacked by every Python, within its folder alone.
def archive(name, *more):
    with tarfile.open(scratch / name, "w:gz") as made:
        for member in ("train/cat/1.jpg", "test/cat/1.jpg", *more):
            described = tarfile.TarInfo(member)
            described.type, described.linkname = (tarfile.SYMTYPE, "/etc") if member == "link" else (tarfile.REGTYPE, "")
            described.size = 0 if member == "link" else 5
            made.addfile(described, io.BytesIO(b"image"))
    return scratch / name


def refusal(path):
    try:
        datasets.unpacked(path, scratch)
    except datasets.BadInput as error:
        return str(error)
    raise AssertionError(f"{path} must be refused")


damaged = archive("damaged.tar.gz")
damaged.write_bytes(damaged.read_bytes()[:-20])
of_debian_12 = types.SimpleNamespace(open=tarfile.open, is_tarfile=tarfile.is_tarfile, TarError=tarfile.TarError)
for way in (tarfile, of_debian_12):
    datasets.tarfile = way
    shutil.rmtree(scratch / "data", ignore_errors=True)
    unpacked = datasets.unpacked(archive("good.tar.gz"), scratch)
    assert (unpacked / "train/cat/1.jpg").read_bytes() == b"image" and (unpacked / "test").is_dir()
    assert "it cannot be unpacked" in refusal(damaged)
    for name in ("../outside.jpg", "link"):
        text = refusal(archive("bad.tar.gz", name))
        assert "--images" in text and name.removeprefix("../") in text, text
    assert not (scratch / "outside.jpg").exists() and not (scratch / "data/outside.jpg").exists()
