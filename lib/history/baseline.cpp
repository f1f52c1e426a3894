#include "history/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "config/writing/workload.h"

namespace esper::history {

using base::Error;
using base::ExitCode;
using base::failure;
using base::judge;
using base::paired_ratio;
using base::Verdict;
using config::workload_difference;

namespace {

using nlohmann::ordered_json;

constexpr int kSlower = 1;

using Pointer = ordered_json::json_pointer;

bool is_positive(const ordered_json& value) { return value.is_number() && value.get<double>() > 0; }

// The parts that every report has, and what each is.
std::string missing_part(const ordered_json& report) {
  for (const char* text :
       {"/scenario", "/environment/machine", "/environment/now/time", "/environment/now/commit", "/workload/hash"}) {
    if (!report.contains(Pointer(text)) || !report[Pointer(text)].is_string()) return text + 1;
  }
  for (const char* object : {"/environment/fingerprint", "/workload/fields", "/ratios"}) {
    if (!report.contains(Pointer(object)) || !report[Pointer(object)].is_object()) return object + 1;
  }
  const bool has_floor = report.contains(Pointer("/noise/floor")) && report[Pointer("/noise/floor")].is_number();
  if (!has_floor) return "noise/floor";
  return report.contains("lanes") && report["lanes"].is_array() ? "" : "lanes";
}

bool is_row(const ordered_json& row) {
  return row.is_object() && row.contains("lane") && row["lane"].is_string() && row.contains("rounds_us") &&
         row["rounds_us"].is_array() && !row["rounds_us"].empty() && std::ranges::all_of(row["rounds_us"], is_positive);
}

std::string first_difference(const ordered_json& kept, const ordered_json& now) {
  for (const auto& [key, value] : kept.items()) {
    if (!now.contains(key) || now[key] != value) {
      return fmt::format("{}: {} against {}", key, value.dump(), now.contains(key) ? now[key].dump() : "nothing");
    }
  }
  return "the new one has more fields";
}

void require_comparable(const ordered_json& kept, const ordered_json& now) {
  if (const auto comparable = check_comparable(kept, now); !comparable) {
    throw Error(ExitCode::kConfig, "these measurements cannot be compared: " + comparable.error());
  }
}

// By row: the median of each round in microseconds.
std::map<std::string, std::vector<double>> rounds_of(const ordered_json& report) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& row : report.at("lanes")) out[row.at("lane")] = row.at("rounds_us").get<std::vector<double>>();
  return out;
}

double floor_of(const ordered_json& report) { return report.at("noise").at("floor").get<double>(); }

std::string_view word(Verdict verdict) {
  if (verdict == Verdict::kPass) return "pass";
  return verdict == Verdict::kFail ? "slower" : "too noisy to judge";
}

std::string line(const ordered_json& row) {
  const auto number = [](const ordered_json& value) { return value.get<double>(); };
  return fmt::format(
      "{:<22} saved {:.3f}, now {:.3f}: {:.3f} times, interval {:.3f} to {:.3f}, sign test p {:.3f}: {}\n",
      row.at("name").get_ref<const std::string&>(), number(row.at("kept")), number(row.at("now")),
      number(row.at("relative")), number(row.at("interval")[0]), number(row.at("interval")[1]),
      number(row.at("sign_p")), row.at("verdict").get_ref<const std::string&>());
}

bool is_gated(const std::string& pair) { return pair.ends_with("/hand") || pair.ends_with("/eager"); }

}  // namespace

base::Expected<void> check_report(const ordered_json& report) {
  if (!report.is_object()) return failure("it is not a JSON object");
  if (const auto missing = missing_part(report); !missing.empty()) return failure("it has no " + missing);
  for (const auto& row : report["lanes"]) {
    if (!is_row(row)) return failure("a lane in it has no name or no times of its rounds");
  }
  for (const auto& [name, value] : report["ratios"].items()) {
    if (!is_positive(value)) return failure("its ratio " + name + " is not a positive number");
  }
  return {};
}

base::Expected<void> check_same_measurement(const ordered_json& kept, const ordered_json& now) {
  if (kept["scenario"] != now["scenario"]) {
    return failure(fmt::format("scenario {} against {}", kept["scenario"].dump(), now["scenario"].dump()));
  }
  const auto &before = kept["environment"]["fingerprint"], &after = now["environment"]["fingerprint"];
  if (before != after) {
    return failure("another machine or another setting, " + first_difference(before, after));
  }
  const auto fields = workload_difference(kept["workload"], now["workload"]);
  if (!fields.empty()) return failure("another configuration of the workload, " + fields);
  return {};
}

base::Expected<void> check_comparable(const ordered_json& kept, const ordered_json& now) {
  for (const auto* report : {&kept, &now}) {
    if (const auto whole = check_report(*report); !whole) return failure("one of them is incomplete: " + whole.error());
  }
  return check_same_measurement(kept, now);
}

BaselineVerdict check_against_baseline(const ordered_json& kept, const ordered_json& now, double budget) {
  require_comparable(kept, now);
  if (!(budget >= 0)) throw Error(ExitCode::kConfig, "the budget must be a number >= 0");
  const double floor = std::max(floor_of(kept), floor_of(now));
  const auto rounds = rounds_of(now);
  ordered_json rows = ordered_json::array();
  std::string text;
  Verdict worst = Verdict::kPass;
  for (const auto& [name, value] : kept.at("ratios").items()) {
    const auto slash = name.find('/');
    const auto a = rounds.find(name.substr(0, slash)), b = rounds.find(name.substr(slash + 1));
    if (!is_gated(name) || a == rounds.end() || b == rounds.end()) continue;
    std::vector<double> expected = b->second;
    for (double& time : expected) time *= value.get<double>();
    const auto pairs = std::min(a->second.size(), expected.size());
    const auto estimate = paired_ratio(std::span(a->second).first(pairs), std::span(expected).first(pairs));
    const Verdict verdict = judge(estimate, floor, budget);
    worst = std::max(worst, verdict == Verdict::kPass ? worst : verdict);
    rows.push_back({{"name", name},
                    {"kept", value},
                    {"now", now.at("ratios").at(name)},
                    {"relative", estimate.median},
                    {"interval", {estimate.interval.low, estimate.interval.high}},
                    {"sign_p", estimate.sign_p},
                    {"pairs", estimate.pairs},
                    {"verdict", word(verdict)}});
    text += line(rows.back());
  }
  if (rows.empty()) {
    throw Error(ExitCode::kConfig,
                "nothing was compared: the baseline and this measurement share no lane with a ratio; measure the "
                "baseline's lanes, or save a new baseline");
  }
  const int code = worst == Verdict::kPass   ? 0
                   : worst == Verdict::kFail ? kSlower
                                             : static_cast<int>(ExitCode::kTryAgain);
  text += fmt::format("{} (budget {:f}, noise floor {:f})\n", word(worst), budget, floor);
  return {{{"verdict", word(worst)}, {"budget", budget}, {"floor", floor}, {"ratios", rows}}, text, code};
}

ordered_json baseline_difference(const ordered_json& before, const ordered_json& after) {
  require_comparable(before, after);
  ordered_json ratios = ordered_json::object();
  for (const auto& [name, value] : before.at("ratios").items()) {
    if (!after.at("ratios").contains(name)) continue;
    const double old_ratio = value.get<double>(), new_ratio = after["ratios"][name].get<double>();
    ratios[name] = {{"before", old_ratio}, {"after", new_ratio}, {"change", new_ratio / old_ratio}};
  }
  return {{"scenario", before.at("scenario")}, {"ratios", ratios}};
}

}  // namespace esper::history
