#include "base/ledger/chrome_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/ledger/span_log.h"
#include "base/names.h"

namespace esper::base {
namespace {

std::string json_text(std::string_view text) {
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
          R"(,"dur":)" + microseconds(length) + R"(,"ph":"X","name":")" + name_of_span(span) + R"(","cat":")" +
              (span.kind == Span::Kind::kOwner ? "owner" : "training") + R"(","args":{")" + (epoch ? "epoch" : "step") +
              R"(":)" + std::to_string(span.number) + "}"};
}

Event event_of(const Ledger& ledger, const Mark& mark) {
  std::string arguments;
  for (const auto& [name, value] : mark.attributes) {
    arguments += (arguments.empty() ? "" : ",") + json_text(name) + ":" + json_text(value);
  }
  std::string text = R"(,"name":)" + json_text(mark.name);
  if (mark.value) {
    arguments = R"("value":)" + nlohmann::json(*mark.value).dump();
    text += R"(,"ph":"C","cat":"figure","args":{)";
  } else {
    text += R"(,"ph":"i","s":"t","cat":"event","args":{)";
  }
  return {ledger.time_of(mark.when), Duration(0), text + arguments + "}"};
}

std::vector<Event> events_of(const Ledger& ledger) {
  const SpanLog& log = *ledger.spans();
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
  ESPER_CHECK(ledger.spans(), "a ledger that keeps spans");
  const SpanLog& log = *ledger.spans();
  std::string out = R"({"displayTimeUnit":"ms","otherData":{"run":)" + json_text(run) + R"(,"dropped_spans":")" +
                    std::to_string(log.spans.dropped()) + R"(","dropped_events":")" +
                    std::to_string(log.marks.dropped()) +
                    "\"},\"traceEvents\":[\n"
                    R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)" +
                    json_text("esper " + std::string(run)) + "}},\n" +
                    R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"training"}})";
  for (const Event& event : events_of(ledger)) {
    out += ",\n{\"pid\":1,\"tid\":1,\"ts\":" + microseconds(event.begin) + event.text + "}";
  }
  return out + "\n]}\n";
}

}  // namespace esper::base
