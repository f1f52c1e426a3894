#include "history/receipt/seed_telemetry.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "history/telemetry/epoch_packet.h"
#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using base::member;
using base::text_at;
using nissa::has_telemetry;

namespace {

using nlohmann::json;
using namespace leyline::literals;
using ByEpoch = SeedTelemetry::ByEpoch;

struct Series {
  std::string_view metric;
  ByEpoch SeedTelemetry::* values;
};
constexpr Series kOfSeed[] = {
    {"kasmina.seed.contribution_points"_metric.name(), &SeedTelemetry::contribution_points},
    {"kasmina.seed.contribution_stderr_points"_metric.name(), &SeedTelemetry::contribution_stderr_points},
    {"kasmina.seed.contribution_half_width_points"_metric.name(), &SeedTelemetry::contribution_half_width_points},
    {"kasmina.seed.shapley_points"_metric.name(), &SeedTelemetry::shapley_points},
    {"kasmina.seed.shapley_stderr_points"_metric.name(), &SeedTelemetry::shapley_stderr_points},
    {"kasmina.seed.shapley_half_width_points"_metric.name(), &SeedTelemetry::shapley_half_width_points},
    {"kasmina.seed.worth_points"_metric.name(), &SeedTelemetry::worth_points},
    {"kasmina.seed.worth_stderr_points"_metric.name(), &SeedTelemetry::worth_stderr_points},
    {"kasmina.seed.worth_half_width_points"_metric.name(), &SeedTelemetry::worth_half_width_points},
    {"kasmina.seed.worth_loss"_metric.name(), &SeedTelemetry::worth_loss},
    {"kasmina.seed.worth_loss_stderr"_metric.name(), &SeedTelemetry::worth_loss_stderr},
    {"kasmina.seed.worth_loss_half_width"_metric.name(), &SeedTelemetry::worth_loss_half_width},
    {"kasmina.seed.worth_epochs"_metric.name(), &SeedTelemetry::worth_epochs},
    {"tolaria.grad_agg.seed.conflicts"_metric.name(), &SeedTelemetry::conflicts},
    {"tolaria.grad_agg.seed.conflict_ratio"_metric.name(), &SeedTelemetry::conflict_ratio},
    {"kasmina.seed.isolation_violations"_metric.name(), &SeedTelemetry::isolation_violations},
    {"kasmina.seed.params"_metric.name(), &SeedTelemetry::parameters}};
constexpr Series kOfRun[] = {{"tolaria.step.p50_us"_metric.name(), &SeedTelemetry::step_p50_us},
                             {"tolaria.validation.accuracy"_metric.name(), &SeedTelemetry::validation_accuracy},
                             {"tolaria.validation.score"_metric.name(), &SeedTelemetry::validation_accuracy}};

constexpr std::size_t kMostEpochs = 1'000'000;
constexpr std::size_t kMostSwaps = 100'000;

bool is_seed_metric(std::string_view metric) {
  const auto names_it = [&](const Series& series) { return series.metric == metric; };
  return std::ranges::any_of(kOfSeed, names_it) || std::ranges::any_of(kOfRun, names_it);
}

StructureSwap swap_of(const json& attributes) {
  const auto number = [&](const char* name) {
    return base::parse_number<double>(text_at(attributes, name)).value_or(0);
  };
  return {text_at(attributes, "lane"), text_at(attributes, "prepared") == "true", number("prepare_ms"),
          number("swap_us"), number("stall_ms")};
}

class Reader {
 public:
  explicit Reader(const std::string& seed_id) : seed_id_(seed_id) {}

  void take(const json& packet) {
    for (const auto& event : member(packet, "events")) {
      const std::string name = text_at(event, "description");
      if (name == "tolaria.resumed"_event.name()) go_back(member(event, "attributes"));
      if (name == "tolaria.growth_swapped"_event.name()) take_swap(member(event, "attributes"));
      if (name == "tolaria.counterfactual_limited"_event.name()) take_limit(member(event, "attributes"));
    }
    const auto epoch = epoch_of(packet);
    if (!epoch) return;
    for (const auto& metric : member(packet, "metrics")) take_metric(metric, *epoch);
  }

  SeedTelemetry found;
  std::size_t left_out = 0;

 private:
  void take_metric(const json& metric, std::uint32_t epoch) {
    const json& value = member(metric, "value");
    if (!value.is_number()) return;
    const std::string name = text_at(metric, "name");
    const auto put = [&](ByEpoch& values) {
      if (values.size() >= kMostEpochs && !values.contains(epoch)) {
        ++left_out;
      } else {
        values[epoch] = value.get<double>();
      }
    };
    for (const auto& [metric_name, values] : kOfRun) {
      if (name == metric_name) put(found.*values);
    }
    if (text_at(member(metric, "attributes"), "seed_id") != seed_id_) return;
    for (const auto& [metric_name, values] : kOfSeed) {
      if (name == metric_name) put(found.*values);
    }
  }

  void take_swap(const json& attributes) {
    const auto step = base::parse_number<std::int64_t>(text_at(attributes, "step"));
    if (step && found.swaps.size() < kMostSwaps) found.swaps[*step] = swap_of(attributes);
  }

  void take_limit(const json& attributes) {
    const auto epoch = base::parse_number<std::uint32_t>(text_at(attributes, "epoch"));
    const auto needed = base::parse_number<double>(text_at(attributes, "needed"));
    const bool of_values = text_at(attributes, "omitted") == "Shapley values";
    if (epoch && needed && of_values && found.configurations_needed.size() < kMostEpochs) {
      found.configurations_needed[*epoch] = *needed;
    }
  }

  void go_back(const json& attributes) {
    const auto epoch = base::parse_number<std::uint32_t>(text_at(attributes, "epoch"));
    if (!epoch) return;
    const auto forget = [&](ByEpoch& values) { values.erase(values.upper_bound(*epoch), values.end()); };
    for (const auto& [metric_name, values] : kOfRun) forget(found.*values);
    for (const auto& [metric_name, values] : kOfSeed) forget(found.*values);
    forget(found.configurations_needed);
    found.process_starts.erase(found.process_starts.upper_bound(*epoch), found.process_starts.end());
    found.process_starts.insert(*epoch);
    const auto step = base::parse_number<std::int64_t>(text_at(attributes, "step"));
    if (step) found.swaps.erase(found.swaps.upper_bound(*step), found.swaps.end());
  }

  const std::string& seed_id_;
};

}  // namespace

SeedTelemetry read_seed_telemetry(const std::filesystem::path& run, const std::string& seed_id,
                                  std::vector<std::string>& gaps) {
  const auto path = run / "telemetry.jsonl";
  if (!has_telemetry(path)) {
    gaps.push_back("there is no telemetry.jsonl: times, conflicts and most measurements are missing");
    return {};
  }
  Reader reader(seed_id);
  const auto report = read_jsonl(path, [&](const json& packet) { reader.take(packet); }, is_seed_metric);
  const auto missing = gaps_of(report);
  gaps.insert(gaps.end(), missing.begin(), missing.end());
  if (reader.left_out > 0) {
    gaps.push_back(fmt::format("telemetry.jsonl covers more than {} epochs; the rest was ignored", kMostEpochs));
  }
  return std::move(reader.found);
}

void begin_with(SeedTelemetry& telemetry, const SeedTelemetry& before, std::uint32_t until, std::int64_t step) {
  const auto take = [&](ByEpoch& values, const ByEpoch& earlier) {
    values.erase(values.begin(), values.upper_bound(until));
    values.insert(earlier.begin(), earlier.upper_bound(until));
  };
  for (const auto& [metric_name, values] : kOfRun) take(telemetry.*values, before.*values);
  for (const auto& [metric_name, values] : kOfSeed) take(telemetry.*values, before.*values);
  take(telemetry.configurations_needed, before.configurations_needed);
  auto& starts = telemetry.process_starts;
  starts.erase(starts.begin(), starts.lower_bound(until));
  starts.insert(before.process_starts.begin(), before.process_starts.lower_bound(until));
  starts.insert(until);
  telemetry.swaps.erase(telemetry.swaps.begin(), telemetry.swaps.upper_bound(step));
  telemetry.swaps.insert(before.swaps.begin(), before.swaps.upper_bound(step));
}

}  // namespace esper::history
