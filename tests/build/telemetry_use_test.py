"""A name is in lib/leyline/telemetry/telemetry_table.h exactly if code in lib/ or apps/ reports it, as a metric or as an event; an event's
labels are there exactly if code sets these attributes. To look a name up in a packet, with .name() or value_of(), is not to report it.
docs/runbook.md has each event of level warning and above.

An event's attributes are those of its list, event("x"_event, level, {{"label", value}, ...}); those that a function with such a list gives
to the event that it is called with, gate("x"_event, ...) or gate<"x"_event>; and those that code of the same file adds later,
made.attributes["label"] = value. The compiler holds the lists to the table, but not what is added, nor what is missing."""
import pathlib
import re
import sys

ROW = re.compile(r'^ *(counter|gauge|histogram|event)\(\s*"([^"]+)"', re.MULTILINE)
USE = re.compile(r'(value_of\([^;"]*)?"([^"\n]+)"_(metric|event)\b(\.name\(\))?')
TEXT = r'"(?:[^"\\\n]|\\.)*"'
COMMENT = re.compile(rf"({TEXT}|'(?:[^'\\\n]|\\.)')|//[^\n]*")
ALARM = re.compile(r'event\(\s*"([^"]+)"_event,[^;{]*?Level::k(?:Warning|Error|Critical)\b')
EVENT_ROW = re.compile(r"^ *event(\()", re.MULTILINE)
MADE = re.compile(r'\bevent(\()\s*(?:"([^"\n]+)"_event|(\w+)\s*,)')
MADE_BY = re.compile(r'\b(\w+)(?:\(\s*|<)"([^"\n]+)"_event\b(?!\.name)')
FUNCTION = re.compile(r"^[\w:<>&*, ]*?\b(\w+)\([^;{}]*\) \{$", re.MULTILINE)
ADDED = re.compile(r'\.attributes\["(\w+)"\] = ')
TOKEN = re.compile(rf"{TEXT}|'(?:[^'\\\n]|\\.)'|[(){{}}\[\],]")
SUFFIXES = {".h", ".cpp", ".cu"}


def uncommented(text):
    return COMMENT.sub(lambda found: found[1] or "", text)


def names_in_table(text):
    return {(name, "event" if kind == "event" else "metric") for kind, name in ROW.findall(uncommented(text))}


def names_reported(text):
    return {(name, kind) for lookup, name, kind, view in USE.findall(uncommented(text)) if not lookup and not view}


def differences(table, sources):
    listed, reported = names_in_table(table), set().union(*map(names_reported, sources))
    return ([f"{name} ({kind}) is in the table, but no code reports it" for name, kind in sorted(listed - reported)] +
            [f"{name} ({kind}) is reported, but not in the table" for name, kind in sorted(reported - listed)])


def tokens_of_call(text, start):
    """From the parenthesis at `start` to its counterpart: each token with the brackets and with the braces that are open at it."""
    brackets = braces = 0
    for token in TOKEN.finditer(text, start):
        yield token[0], brackets, braces
        brackets += (token[0] in "([{") - (token[0] in ")]}")
        braces += (token[0] == "{") - (token[0] == "}")
        if brackets == 0:
            return


def labels_in_table(text):
    """Of each event."""
    text, labels = uncommented(text), {}
    for row in EVENT_ROW.finditer(text):
        arguments = [""]
        for token, brackets, _ in tokens_of_call(text, row.start(1)):
            if token == ",":
                arguments.append("")
            elif token.startswith('"'):
                arguments[-1] += token[1:-1]
        labels[arguments[0]] = set(arguments[2].split()) if len(arguments) > 2 else set()
    return labels


def labels_in_list(text, start):
    found, before = set(), ""
    for token, _, braces in tokens_of_call(text, start):
        if before == "{" and braces == 2 and token.startswith('"'):
            found.add(token[1:-1])
        before = token
    return found


def labels_set(text):
    """Of each event that the file makes: the attributes of its lists. Those that the file adds to one or another of them. The events
    that it makes in another way than the three."""
    text = uncommented(text)
    made, helpers, unclear = {}, {}, set()
    for call in MADE.finditer(text):
        labels = labels_in_list(text, call.start(1))
        if call[2]:
            made.setdefault(call[2], set()).update(labels)
        else:
            helpers.setdefault([found[1] for found in FUNCTION.finditer(text, 0, call.start())][-1], set()).update(labels)
    for helper, name in MADE_BY.findall(text):
        if helper in helpers:
            made.setdefault(name, set()).update(helpers[helper])
        elif helper != "event":
            unclear.add(name)
    named = {name for lookup, name, kind, view in USE.findall(text) if kind == "event" and not lookup and not view}
    return made, set(ADDED.findall(text)), unclear | (named - set(made))


def label_differences(table, sources):
    listed, code, wrong = labels_in_table(table), {}, set()
    for path, text in sources:
        made, added, unclear = labels_set(text)
        wrong |= {f"{path} makes {name} in a way that {pathlib.Path(__file__).name} does not know" for name in unclear}
        for name, labels in made.items():
            code.setdefault(name, set()).update(labels, added & listed.get(name, set()))
        known = set().union(*(listed.get(name, set()) for name in made))
        wrong |= {f"{path} adds the attribute {label}, which the table has for no event that this file makes" for label in added - known}
    for name in set(listed) & set(code):
        wrong |= {f"{name} has the label {label} in the table, but no code sets it" for label in listed[name] - code[name]}
        wrong |= {f"{name} gets the attribute {label}, which the table does not have" for label in code[name] - listed[name]}
    return sorted(wrong)


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

# The same for the labels of events.
EVENTS = '''    event("a.plain", "help"),
    event("a.listed", "help, with a comma, "
          "in two parts", "reason epoch"),
    event("a.gate", "help", "from to"),
    event("a.measured", "help", "value"),
    event("a.later", "help", "best"),
'''
LISTS = '''
emit(event("a.plain"_event, Level::kInfo));
emit(event("a.listed"_event, Level::kWarning,
           {{"reason", fmt::format("{\\"other\\", {}}", f({"other", 1}))},  // {"other", 1}
            {"epoch", text(values, [](const auto& it) { return of("other", it); })}}));
'''
HELPERS = '''
template <class Handle>
TelemetryEvent gate(Handle handle, const Event& it) {
  return event(handle, Level::kInfo, {{"from", it.from}, {"to", it.to}});
}

template <auto kHandle>
TelemetryEvent measured_event(const Verdict& verdict) {
  return leyline::event(
      kHandle, verdict.level, {{"value", verdict.value}});
}
constexpr Rule kRules[] = {{0, measured_event<"a.measured"_event>}};
return gate("a.gate"_event, it);
'''
LATER = '''auto made = event("a.later"_event, Level::kInfo, {});
if (best) made.attributes["best"] = "1";
if (name == "a.listed"_event.name()) take(text_at(attributes, "reason"));
'''


def told(*replacements):
    table, code = EVENTS, [LISTS, HELPERS, LATER]
    for old, new in replacements:
        assert sum(text.count(old) for text in (table, *code)) == 1, old
        table, code = table.replace(old, new), [text.replace(old, new) for text in code]
    return label_differences(table, [(f"{i}.cpp", text) for i, text in enumerate(code)])


assert labels_in_table(EVENTS)["a.listed"] == {"reason", "epoch"} and len(labels_in_table(EVENTS)) == 5, labels_in_table(EVENTS)
assert told() == [], told()
assert told(('"reason epoch"', '"reason epoch gone"')) == ["a.listed has the label gone in the table, but no code sets it"]
assert told(('"reason epoch"', '"reason"')) == ["a.listed gets the attribute epoch, which the table does not have"]
assert told(('"help", "from to"', '"help", "from to by"')) == ["a.gate has the label by in the table, but no code sets it"]
assert told(('{"to", it.to}', '')) == ["a.gate has the label to in the table, but no code sets it"]
assert told(('"help", "value"', '"help"')) == ["a.measured gets the attribute value, which the table does not have"]
assert told(('{{"value", verdict.value}}', '{}')) == ["a.measured has the label value in the table, but no code sets it"]
assert told(('made.attributes["best"] = "1"', 'f()')) == ["a.later has the label best in the table, but no code sets it"]
assert told(('attributes["best"] =', 'attributes["bets"] =')) == [
    "2.cpp adds the attribute bets, which the table has for no event that this file makes",
    "a.later has the label best in the table, but no code sets it"]
assert told(('return gate("a.gate"_event, it);', 'return other("a.gate"_event, it);')) == [
    f"1.cpp makes a.gate in a way that {pathlib.Path(__file__).name} does not know"]
assert told(('return gate("a.gate"_event, it);', 'const auto handle = "a.gate"_event;')) == [
    f"1.cpp makes a.gate in a way that {pathlib.Path(__file__).name} does not know"]

root = pathlib.Path(sys.argv[1])
files = sorted(path for room in ("lib", "apps") for path in (root / room).rglob("*") if path.suffix in SUFFIXES)
table = (root / "lib/leyline/telemetry/telemetry_table.h").read_text()
wrong = differences(table, [path.read_text() for path in files])
assert len(files) > 100 and len(names_in_table(table)) > 100, files
assert not wrong, "\n" + "\n".join(wrong)

wrong = label_differences(table, [(path.relative_to(root), path.read_text()) for path in files])
assert set(labels_in_table(table)) == {name for name, kind in names_in_table(table) if kind == "event"}, labels_in_table(table)
assert not wrong, "\n" + "\n".join(wrong)

CALLS = 'event("a.bad"_event, Level::kWarning, {}); event("a.worse"_event, is_last ? Level::kInfo : Level::kError); event("a.fine"_event, Level::kInfo, {}); event("b"_event)'
assert ALARM.findall(CALLS) == ["a.bad", "a.worse"], ALARM.findall(CALLS)
alarms = {name for path in files for name in ALARM.findall(path.read_text())}
runbook = (root / "docs/runbook.md").read_text()
unexplained = sorted(name for name in alarms if f"`{name}`" not in runbook)
assert len(alarms) > 40 and not unexplained, f"docs/runbook.md does not say what to do about {', '.join(unexplained)}"
