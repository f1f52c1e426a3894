#include "base/ledger/chrome_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/ledger/span_log.h"
#include "base/names.h"
#include "base/text/joined.h"

namespace esper::base {
namespace {

std::string text_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Duration time) { return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000); }

struct Event {
  Duration begin, length;
  std::string text;  // what follows the time
};

std::string name_of_span(const Span& span) {
  switch (span.kind) {
    case Span::Kind::kOwner:
      return std::string(name_of(span.owner));
    case Span::Kind::kStep:
      return "step";
    case Span::Kind::kEpoch:
      break;
  }
  return "epoch";
}

Event event_of(const Ledger& ledger, const Span& span) {
  const Duration begin = ledger.time_of(span.begin), length = ledger.time_of(span.end) - begin;
  const bool epoch = span.kind == Span::Kind::kEpoch;
  return {begin, length,
          fmt::format(R"(,"dur":{},"ph":"X","name":"{}","cat":"{}","args":{{"{}":{}}})", microseconds(length),
                      name_of_span(span), span.kind == Span::Kind::kOwner ? "owner" : "training",
                      epoch ? "epoch" : "step", span.number)};
}

Event event_of(const Ledger& ledger, const Mark& mark) {
  std::string arguments = joined(mark.attributes, ",", [](const auto& attribute) {
    return text_json(attribute.first) + ":" + text_json(attribute.second);
  });
  std::string text = R"(,"name":)" + text_json(mark.name);
  if (mark.value) {
    arguments = R"("value":)" + nlohmann::json(*mark.value).dump();
    text += R"(,"ph":"C","cat":"figure","args":{)";
  } else {
    text += R"(,"ph":"i","s":"t","cat":"event","args":{)";
  }
  return {ledger.time_of(mark.when), Duration(0), text + arguments + "}"};
}

std::vector<Event> events_of(const Ledger& ledger) {
  const SpanLog& log = *ledger.watch().spans();
  std::vector<Event> events;
  events.reserve(log.spans.newest().size() + log.marks.newest().size() + 1);
  events.push_back(
      {Duration(0), ledger.start_up(),
       R"(,"dur":)" + microseconds(ledger.start_up()) + R"(,"ph":"X","name":"start_up","cat":"owner","args":{})"});
  for (const Span& span : log.spans.newest()) events.push_back(event_of(ledger, span));
  for (const Mark& mark : log.marks.newest()) events.push_back(event_of(ledger, mark));
  // Of two that begin together the longer one holds the other.
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.length > b.length;
  });
  return events;
}

}  // namespace

std::string chrome_trace(const Ledger& ledger, std::string_view run) {
  ESPER_CHECK(ledger.watch().spans(), "a ledger that keeps spans");
  const SpanLog& log = *ledger.watch().spans();
  std::string out = fmt::format(
      R"({{"displayTimeUnit":"ms","otherData":{{"run":{},"dropped_spans":"{}","dropped_events":"{}"}},"traceEvents":[
{{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}},
{{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{{"name":"training"}}}})",
      text_json(run), log.spans.dropped(), log.marks.dropped(), text_json(fmt::format("esper {}", run)));
  for (const Event& event : events_of(ledger)) {
    out += fmt::format(",\n{{\"pid\":1,\"tid\":1,\"ts\":{}{}}}", microseconds(event.begin), event.text);
  }
  return out + "\n]}\n";
}

}  // namespace esper::base
