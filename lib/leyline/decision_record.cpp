#include "leyline/decision_record.h"

#include <fmt/core.h>

#include "base/hash.h"
#include "base/text/printable.h"
#include "leyline/decision_members.h"
#include "leyline/observation_members.h"

namespace esper::leyline {

using base::json_member;
using nlohmann::json;

constexpr auto json_members(const DecisionProcess*) {
  using S = DecisionProcess;
  return std::tuple{json_member("format", &S::format), json_member("run_id", &S::run_id),
                    json_member("epoch", &S::epoch),   json_member("step", &S::step),
                    json_member("policy", &S::policy), json_member("config", &S::config)};
}

constexpr auto json_members(const AnswerRecord*) {
  using S = AnswerRecord;
  return std::tuple{json_member("outcome", &S::outcome), json_member("problem", &S::problem),
                    json_member("latency_ms", &S::latency_ms), json_member("decision", &S::decision)};
}

constexpr auto json_members(const ShadowRecord*) {
  using S = ShadowRecord;
  return std::tuple{json_member("policy", &S::policy), json_member("state", &S::state),
                    json_member("answer", &S::answer)};
}

constexpr auto json_members(const DecisionRecord*) {
  using S = DecisionRecord;
  return std::tuple{json_member("observation", &S::observation),
                    json_member("policy", &S::policy),
                    json_member("state", &S::state),
                    json_member("service", &S::service),
                    json_member("figures", &S::figures),
                    json_member("answer", &S::answer),
                    json_member("carried_out", &S::carried_out),
                    json_member("held_by", &S::held_by),
                    json_member("shadows", &S::shadows)};
}

namespace {

constexpr std::uint32_t kFormat = 1;
constexpr std::string_view kCheckBegin = R"({"check":")", kProcess = R"(","process":)", kDecision = R"(","decision":)";
constexpr std::size_t kCheckDigits = 16;

std::string line_of(std::string_view kind, const json& content) {
  const std::string text = base::json_line(content);
  return fmt::format("{}{}{}{}}}", kCheckBegin, base::hash_text(base::fnv1a(text)), kind, text);
}

template <class Record>
base::Expected<DecisionLine> record_of(std::string_view content) {
  const auto document = base::parse_json(content, kMostDecisionLine);
  if (!document) return base::failure(document.error());
  auto read = base::from_json<Record>(*document);
  if (!read) return base::failure(read.error());
  return DecisionLine(*std::move(read));
}

// Without what a repetition of the same decision does not repeat.
Decision without_times(Decision decision) {
  if (decision.assessment) decision.assessment->network_ms.reset();
  return decision;
}

std::optional<std::string> first_difference(const json& a, const json& b, const std::string& path) {
  if (a == b && a.type() == b.type() && base::json_line(a) == base::json_line(b)) return std::nullopt;
  if (a.type() == b.type() && a.is_structured() && a.size() == b.size()) {
    for (auto own = a.begin(), other = b.begin(); own != a.end(); ++own, ++other) {
      const std::string name = a.is_object() ? own.key() : fmt::format("[{}]", std::distance(a.begin(), own));
      if (a.is_object() && own.key() != other.key()) return fmt::format("{}{} is in only one of them", path, name);
      const std::string prefix = path.empty() || a.is_array() ? path : path + ".";
      if (auto found = first_difference(*own, *other, prefix + name)) return found;
    }
  }
  const auto shown = [](const json& value) {
    return value.is_array() ? fmt::format("{} entries", value.size())
                            : base::printable_line(base::shortened(base::json_line(value)));
  };
  return fmt::format("{}: {}, then {}", path, shown(a), shown(b));
}

}  // namespace

std::string decision_line(const DecisionRecord& record) { return line_of(kDecision, base::to_json(record)); }

std::string decision_line(const DecisionProcess& process) { return line_of(kProcess, base::to_json(process)); }

base::Expected<DecisionLine> read_decision_line(std::string_view line) {
  if (line.size() > kMostDecisionLine) return base::failure(fmt::format("it has {} bytes", line.size()));
  if (!line.starts_with(kCheckBegin)) return base::failure("it does not begin with a checksum");
  line.remove_prefix(kCheckBegin.size());
  const auto check = line.substr(0, kCheckDigits);
  line.remove_prefix(check.size());
  const bool is_process = line.starts_with(kProcess);
  if (!is_process && !line.starts_with(kDecision)) return base::failure("it is neither a decision nor a process");
  line.remove_prefix(is_process ? kProcess.size() : kDecision.size());
  if (!line.ends_with('}')) return base::failure("it was cut off");
  line.remove_suffix(1);
  if (base::hash_text(base::fnv1a(line)) != check)
    return base::failure("it was cut off or changed after it was written");
  if (!is_process) return record_of<DecisionRecord>(line);
  auto read = record_of<DecisionProcess>(line);
  if (read && std::get<DecisionProcess>(*read).format != kFormat) return base::failure("another version wrote it");
  return read;
}

std::optional<std::string> difference(const Decision& recorded, const Decision& again) {
  return first_difference(base::to_json(without_times(recorded)), base::to_json(without_times(again)), "");
}

}  // namespace esper::leyline
