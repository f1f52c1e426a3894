"""A name is in lib/leyline/telemetry/telemetry_table.h exactly if code in lib/ or apps/ reports it, as a metric or as an event. To look a
name up in a packet, with .name() or value_of(), is not to report it. docs/runbook.md has each event of level warning and above."""
import pathlib
import re
import sys

ROW = re.compile(r'^ *(counter|gauge|histogram|event)\(\s*"([^"]+)"', re.MULTILINE)
USE = re.compile(r'(value_of\([^;"]*)?"([^"\n]+)"_(metric|event)\b(\.name\(\))?')
COMMENT = re.compile(r'//[^\n]*')
ALARM = re.compile(r'event\(\s*"([^"]+)"_event,[^;{]*?Level::k(?:Warning|Error|Critical)\b')
SUFFIXES = {".h", ".cpp", ".cu"}


def names_in_table(text):
    return {(name, "event" if kind == "event" else "metric") for kind, name in ROW.findall(COMMENT.sub("", text))}


def names_reported(text):
    return {(name, kind) for lookup, name, kind, view in USE.findall(COMMENT.sub("", text)) if not lookup and not view}


def differences(table, sources):
    listed, reported = names_in_table(table), set().union(*map(names_reported, sources))
    return ([f"{name} ({kind}) is in the table, but no code reports it" for name, kind in sorted(listed - reported)] +
            [f"{name} ({kind}) is reported, but not in the table" for name, kind in sorted(reported - listed)])


# A table and its code, and what each way to part them is told as.
TABLE = '''constexpr TelemetryEntry gauge(std::string_view name, std::string_view unit);
    gauge("a.loss", "loss", "help"),
    counter("a.steps_total", "count",
            "help"),
    // gauge("a.gone", "ms", "help"),
    event("halt", "help", "reason"),
    gauge("halt", "bool", "help"),
'''
CODE = ['out.push_back(metric("a.loss"_metric, 1)); add_if_known(out, "a.steps_total"_metric, seed);',
        'tell(passed ? gate("halt"_event, it) : it); count("halt"_metric, 1);']
assert differences(TABLE, CODE) == [], differences(TABLE, CODE)
for looked_up in ['if (name == "a.loss"_metric.name()) {', 'if (const auto loss = value_of(packet, "a.loss"_metric)) {',
                  'value_of(of(packet),\n         "a.loss"_metric);', '// metric("a.loss"_metric, 1)', 'metric("a.loss", 1)']:
    found = differences(TABLE, [CODE[0].replace('"a.loss"_metric', '"a.steps_total"_metric'), CODE[1], looked_up])
    assert found == ["a.loss (metric) is in the table, but no code reports it"], (looked_up, found)
assert differences(TABLE, [CODE[0], 'event("halt"_event)']) == ["halt (metric) is in the table, but no code reports it"]
assert differences(TABLE, CODE + ['metric("a.gone"_metric, 1)']) == ["a.gone (metric) is reported, but not in the table"]
both = differences(TABLE, CODE + ['value_of(packet, "a.loss"_metric); metric("a.new"_metric, 1)'])
assert both == ["a.new (metric) is reported, but not in the table"], both

root = pathlib.Path(sys.argv[1])
files = sorted(path for room in ("lib", "apps") for path in (root / room).rglob("*") if path.suffix in SUFFIXES)
wrong = differences((root / "lib/leyline/telemetry/telemetry_table.h").read_text(), [path.read_text() for path in files])
assert len(files) > 100 and len(names_in_table((root / "lib/leyline/telemetry/telemetry_table.h").read_text())) > 100, files
assert not wrong, "\n" + "\n".join(wrong)

CALLS = 'event("a.bad"_event, Level::kWarning, {}); event("a.worse"_event, is_last ? Level::kInfo : Level::kError); event("a.fine"_event, Level::kInfo, {}); event("b"_event)'
assert ALARM.findall(CALLS) == ["a.bad", "a.worse"], ALARM.findall(CALLS)
alarms = {name for path in files for name in ALARM.findall(path.read_text())}
runbook = (root / "docs/runbook.md").read_text()
unexplained = sorted(name for name in alarms if f"`{name}`" not in runbook)
assert len(alarms) > 40 and not unexplained, f"docs/runbook.md does not say what to do about {', '.join(unexplained)}"
