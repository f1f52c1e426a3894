#include "engine/bench/table.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

std::string row_line(const ordered_json& row, const std::string& name, const ordered_json& report,
                     const std::string& first) {
  const std::string key = name + "/" + first;
  const std::string relative = name == first ? "1.00"
                               : report.at("ratios").contains(key)
                                   ? fmt::format("{:.3f}", report["ratios"][key].get<double>())
                                   : "-";
  return fmt::format("{:<17} {:>11.1f} {:>11.2f} {:>11.2f} {:>11.2f} {:>9}\n", name, row.at("warmup_ms").get<double>(),
                     row.at("p50_us").get<double>(), row.at("p95_us").get<double>(), row.at("p99_us").get<double>(),
                     relative);
}

std::string rows_text(const ordered_json& report) {
  if (report.at("lanes").empty()) return {};
  const std::string first = report.at("lanes").front().at("lane");
  std::string text = fmt::format("{:<17} {:>11} {:>11} {:>11} {:>11} {:>9}\n", "lane", "warm-up ms", "p50 us", "p95 us",
                                 "p99 us", "/" + first);
  for (const auto& row : report.at("lanes")) text += row_line(row, row.at("lane"), report, first);
  for (const auto& row : report.at("peers")) text += row_line(row, row.at("name"), report, first);
  if (report.at("noise").is_null()) return text;
  return text + fmt::format("last column: time relative to {}, median of {} interleaved rounds; below 1 is faster\n",
                            first, report["noise"].at("rounds").get<int>());
}

std::string growth_text(const ordered_json& report) {
  if (!report.contains("growth")) return {};
  const auto& growth = report["growth"];
  if (growth.contains("problem")) return "growing: " + growth["problem"].get<std::string>() + "\n";
  const auto one = [](const char* which, const ordered_json& of) {
    if (of.contains("problem")) return fmt::format("growing, {}: {}\n", which, of["problem"].get<std::string>());
    return fmt::format(
        "growing, {}: p99 of the steps after a change {:.2f} times the steady p50; worst stall {:.1f} ms\n", which,
        of.at("ratio").get<double>(), of.at("worst_stall_ms").get<double>());
  };
  return one((growth.at("cache").get<std::string>() + " cache").c_str(), growth) + one("cold cache", growth.at("cold"));
}

std::string seed_costs_text(const ordered_json& report) {
  if (!report.contains("seed_costs")) return {};
  std::string text;
  for (const auto& [name, interval] : report["seed_costs"]["intervals"].items()) {
    text += fmt::format("{:<36} {:.3f}, interval {:.3f} to {:.3f}\n", name, report["ratios"][name].get<double>(),
                        interval[0].get<double>(), interval[1].get<double>());
  }
  return text;
}

std::string noise_text(const ordered_json& report) {
  const auto& noise = report.at("noise");
  if (noise.is_null()) return {};
  const std::string lane = noise.at("lane");
  return fmt::format(
      "noise: {} against itself {:.3f}, interval {:.3f} to {:.3f}; differences below {:.1f} % are not significant\n",
      lane, noise.at("ratio").get<double>(), noise.at("interval")[0].get<double>(),
      noise.at("interval")[1].get<double>(), 100 * noise.at("floor").get<double>());
}

std::string count_text(const ordered_json& counts, const char* name) {
  return !counts.contains(name) || counts[name].is_null() ? "-" : counts[name].dump();
}

// "name value, name value".
std::string fields_text(const ordered_json& fields);

std::string value_text(const ordered_json& value) {
  if (value.is_object()) return "(" + fields_text(value) + ")";
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string()) return value;
  return value.is_null() ? "none" : value.dump();
}

std::string fields_text(const ordered_json& fields) {
  std::string text;
  for (const auto& [name, value] : fields.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
  }
  return text;
}

// A peer that runs has the same: one with others is refused.
std::string settings_text(const ordered_json& report) {
  if (!report.contains("settings")) return {};
  const char* peer = report["settings"]["python"].is_null() ? "" : "; the same in Python";
  return fmt::format("settings: {}{}\n", fields_text(report["settings"]["esper"]), peer);
}

std::string memory_text(const ordered_json& report) {
  if (!report.contains("device_memory")) return {};
  constexpr double kMiB = 1 << 20;
  const auto& memory = report["device_memory"];
  return fmt::format("device memory of all rows of this process: peak {:.1f} MiB, reserved {:.1f} MiB\n",
                     memory.at("peak_bytes").get<double>() / kMiB, memory.at("reserved_bytes").get<double>() / kMiB);
}

}  // namespace

std::string heading(const ordered_json& report) {
  const auto& facts = report.at("environment").at("fingerprint");
  const int threads = facts.at("threads").get<int>();
  return fmt::format("scenario {}, {}, {} {}\n", report.at("scenario").get<std::string>(),
                     facts.at("cpu").get<std::string>(), threads, threads == 1 ? "thread" : "threads");
}

std::string refused_text(const ordered_json& report) {
  std::string text;
  for (const auto& row : report.at("refused")) {
    text += fmt::format("{:<17} not run: {}\n", row.at("name").get<std::string>(), row.at("reason").get<std::string>());
  }
  return text;
}

std::string epoch_text(const ordered_json& report) {
  const auto& epoch = report.at("epoch");
  return fmt::format("epoch of {} steps in lane {}: p50 {:.3f} ms, p95 {:.3f} ms, p99 {:.3f} ms over {} epochs\n",
                     epoch.at("steps_per_epoch").get<int>(), report.at("epoch_lane").get<std::string>(),
                     epoch.at("p50_ms").get<double>(), epoch.at("p95_ms").get<double>(),
                     epoch.at("p99_ms").get<double>(), epoch.at("epochs").get<int>());
}

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string table_text(const ordered_json& report) {
  return without_newline(heading(report) + rows_text(report) + refused_text(report) + epoch_text(report) +
                         growth_text(report) + seed_costs_text(report) + settings_text(report) + memory_text(report) +
                         noise_text(report));
}

std::string counts_text(const ordered_json& report) {
  std::string text = heading(report);
  text += fmt::format("{:<17} {:>11} {:>11} {:>11} {:>15} {:>13}\n", "per step", "operators", "host reads",
                      "heap blocks", "kernel launches", "device blocks");
  bool all_counted = true;
  for (const auto& [lane, counts] : report.at("counts").items()) {
    text += fmt::format("{:<17} {:>11} {:>11} {:>11} {:>15} {:>13}\n", lane, count_text(counts, "operators"),
                        count_text(counts, "host_reads"), count_text(counts, "allocations"),
                        count_text(counts, "kernel_launches"), count_text(counts, "device_allocations"));
    all_counted = all_counted && !counts.at("allocations").is_null();
  }
  text += refused_text(report);
  if (!all_counted) {
    text +=
        "heap blocks and kernel launches are counted with libesper_counters.so preloaded, as scripts/perf_drill does\n";
  }
  return without_newline(std::move(text));
}

}  // namespace esper::engine::bench
