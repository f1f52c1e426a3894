"""What `esper drill --json` prints matches docs/drill_scorecard.schema.json: scorecard_schema_test.py PROJECT_ROOT ESPER.

Three drills, one of each outcome; then scorecards with a mistake, which must not match."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

root, esper = map(pathlib.Path, sys.argv[1:])
ANNOTATIONS = {"$schema", "title", "description"}
ASSERTIONS = {"type", "const", "minimum", "required", "properties", "additionalProperties", "items"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def is_of_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def problems(value, schema, place="scorecard"):
    """How the value breaks the schema. Knows the keywords that this schema uses; another one is an error, not passed over."""
    if unknown := schema.keys() - ANNOTATIONS - ASSERTIONS:
        raise NotImplementedError(f"{place}: the schema has {', '.join(sorted(unknown))}, which this test does not check")
    if "type" in schema and not is_of_type(value, schema["type"]):
        return [f"{place}: {value!r} is not of type {schema['type']}"]
    found = []
    if "const" in schema and (type(value), value) != (type(schema["const"]), schema["const"]):
        found.append(f"{place}: {value!r} is not {schema['const']!r}")
    if is_of_type(value, "number") and value < schema.get("minimum", value):
        found.append(f"{place}: {value!r} < {schema['minimum']}")
    if isinstance(value, dict):
        found += [f"{place}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, member in value.items():
            of_member = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
            if of_member is False:
                found.append(f"{place}: {name} is not in the schema")
            elif of_member is not True:
                found += problems(member, of_member, f"{place}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += problems(item, schema.get("items", {}), f"{place}[{i}]")
    return found


DRILL = "about: A test.\nrun: {run}\nset: [epochs=1, policy.kind=none, growth.enabled=false]\n{more}"
DRILLS = {"fails": "expect: {events: [tolaria.diverged]}\n",
          "passes": "faults: [storage.publish@2]\nexpect: {events: [tolaria.save_paused=1]}\n",
          "skipped": "needs: gpu\n"}


def scorecard(folder):
    (folder / "drills").mkdir()
    for name, more in DRILLS.items():
        (folder / f"drills/{name}.yaml").write_text(DRILL.format(run=root / "configs/drill/run/digits_quick.yaml", more=more))
    # Without a visible GPU, wherever it runs, so that one is skipped. Runs that are kept lie in TMPDIR.
    done = subprocess.run([esper, "drill", "all", "--drills", folder / "drills", "--json", "--output", folder / "scorecard.json"],
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(folder)}, capture_output=True, text=True,
                          timeout=500, check=False)
    assert done.returncode == 1, (done.returncode, done.stderr)
    shown = json.loads(done.stdout)
    assert shown == json.loads((folder / "scorecard.json").read_text())
    return shown


def with_mistake(at, name, value):
    """Another scorecard: a member of the object at that path is set, or removed (None)."""
    other = copy.deepcopy(card)
    target = other
    for step in at:
        target = target[step]
    if value is None:
        del target[name]
    else:
        target[name] = value
    return other


schema = json.loads((root / "docs/drill_scorecard.schema.json").read_text())
with tempfile.TemporaryDirectory(prefix="esper-scorecard-") as scratch:
    card = scorecard(pathlib.Path(scratch))
assert not problems(card, schema), problems(card, schema)
assert (card["passed"], card["failed"], card["skipped"]) == (1, 1, 1), card
drills = {drill["name"]: drill for drill in card["drills"]}
assert drills["passes"]["passed"] and drills["passes"]["events"] == {"tolaria.save_paused": 1}, drills
assert drills["fails"]["failures"] and not drills["fails"]["passed"] and card["runs_kept_in"], card
assert drills["skipped"]["skipped"] and not drills["skipped"]["ends"], drills

first = ("drills", 0)
mistakes = [((), name, None) for name in card] + [(first, name, None) for name in card["drills"][0]]
mistakes += [((), "more", 1), (first, "more", "text"), ((), "format", 2), ((), "format", True), ((), "esper", 1), ((), "passed", -1),
             ((), "failed", 0.5), ((), "skipped", True), ((), "runs_kept_in", False), ((), "drills", {}), (("drills",), 0, []),
             (first, "passed", 1), (first, "skipped", 0), (first, "failures", "text"), (first, "ends", [0]), (first, "took_s", -0.5),
             (first, "took_s", "1"), ((*first, "events"), "tolaria.diverged", -1), ((*first, "events"), "tolaria.diverged", "1")]
for mistake in mistakes:
    assert len(found := problems(with_mistake(*mistake), schema)) == 1, (mistake, found)
try:
    problems(card, {**schema, "maxProperties": 1})
    sys.exit("a keyword that the test does not know was passed over")
except NotImplementedError:
    pass
