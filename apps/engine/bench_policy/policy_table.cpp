#include "engine/bench_policy/policy_table.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/bench/table.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

double number_at(const ordered_json& of, const char* key) { return of.at(key).get<double>(); }

std::string network_rows(const ordered_json& report) {
  std::string text = fmt::format("{:<17} {:>6} {:>11} {:>11} {:>11} {:>11} {:>8}\n", "network", "nodes", "warm-up ms",
                                 "p50 us", "p95 us", "p99 us", "calls");
  for (const auto& row : report.at("policy")) {
    text += fmt::format("{:<17} {:>6} {:>11.1f} {:>11.1f} {:>11.1f} {:>11.1f} {:>8}\n",
                        row.at("network").get<std::string>(), row.at("nodes").get<int>(), number_at(row, "warmup_ms"),
                        number_at(row, "p50_us"), number_at(row, "p95_us"), number_at(row, "p99_us"),
                        row.at("calls").get<int>());
  }
  return text;
}

std::string ratio_rows(const ordered_json& report) {
  std::string text;
  for (const auto& sizes : report.at("ratios")) {
    for (const auto& [name, value] : sizes.items()) {
      if (name == "nodes") continue;
      text +=
          fmt::format("{} at {} nodes: p95 {:.1f} times\n", name, sizes.at("nodes").get<int>(), value.get<double>());
    }
  }
  return text;
}

std::string runs_text(const ordered_json& report) {
  std::string text = epoch_text(report);
  text +=
      fmt::format("in these epochs the network decides and {} seeds grow\n", report.at("epoch").at("seeds").get<int>());
  for (const auto& step : report.at("steps")) {
    text += fmt::format(
        "step, {} an epoch: p50 {:.2f} us with the network deciding, {:.2f} us without a policy; ratio {:.3f}, "
        "interval "
        "{:.3f} to {:.3f}\n",
        step.at("steps_per_epoch").get<int>(), number_at(step, "on_p50_us"), number_at(step, "off_p50_us"),
        number_at(step, "ratio"), step.at("interval")[0].get<double>(), step.at("interval")[1].get<double>());
  }
  return text;
}

}  // namespace

std::string policy_table(const ordered_json& report) {
  return without_newline(heading(report) + network_rows(report) + refused_text(report) + ratio_rows(report) +
                         runs_text(report));
}

}  // namespace esper::engine::bench
