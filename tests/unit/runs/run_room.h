#pragma once
// Run folders as `esper train` leaves them, without training.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "config/writing/write.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::runs::test {

namespace fs = std::filesystem;
using nlohmann::json;

inline void write_text(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Second `second` of the test's day.
inline std::string moment_at(int second) { return base::rfc3339(std::chrono::seconds(1'800'000'000 + second)); }

inline json metric(const std::string& name, double value) {
  return {{"name", name}, {"value", value}, {"unit", ""}, {"attributes", json::object()}};
}

inline json packet(int second, const json& metrics, const json& events, int epoch) {
  return {{"packet_id", "p"},
          {"timestamp", moment_at(second)},
          {"source_subsystem", "tolaria"},
          {"level", "INFO"},
          {"metrics", metrics},
          {"events", events},
          {"system_health", {{"indicators", {{"epoch", std::to_string(epoch)}}}}}};
}

inline json event(const std::string& name, const json& attributes) {
  return {{"event_id", "evt-0"}, {"description", name}, {"level", "INFO"}, {"attributes", attributes}};
}

// A line of telemetry.jsonl with its keys in the order in which a run writes them.
inline std::string line_of(const json& packet) {
  nlohmann::ordered_json line;
  for (const char* key :
       {"packet_id", "timestamp", "source_subsystem", "level", "metrics", "events", "system_health"}) {
    line[key] = packet[key];
  }
  return line.dump() + "\n";
}

// One run folder, of two epochs out of three, killed after that; more is added to it.
struct RunFolder {
  std::string path;

  explicit RunFolder(std::string folder) : path(std::move(folder)) {
    config::RunConfig config;
    config.name = "small";
    config.epochs = 3;
    config.data.kind = config::DataKind::kDigits;
    write_text(path + "/config.yaml", config::resolved_yaml(config));
    write_text(path + "/lock", "process 1 on nowhere");
    fs::create_directories(path + "/checkpoints");
    add_record({{"what", "started"}, {"epoch", 0}, {"step", 0}});
    add_packet(packet(0, json::array(), json::array({event("tolaria.run_started", {{"version", "1.2.3"}})}), 0));
    for (int epoch : {1, 2}) add_epoch(epoch, 3.0 - epoch, 0.2 * epoch);
  }

  void add_packet(const json& packet) const {
    std::ofstream(path + "/telemetry.jsonl", std::ios::app | std::ios::binary) << line_of(packet);
  }
  void add_record(const json& record) const {
    storage::JournalWriter(storage::real_file_system(), path + "/journal").append(record.dump());
  }
  void add_epoch(int epoch, double loss, double accuracy) const {
    report_epoch(epoch, loss, accuracy, epoch);
    add_checkpoint(epoch, loss, accuracy);
  }
  // best: the run's best epoch by then.
  void report_epoch(int epoch, double loss, double accuracy, int best) const {
    add_packet(packet(epoch,
                      {metric("tolaria.training.loss", loss), metric("tolaria.epochs.total", epoch),
                       metric("tolaria.validation.loss", loss), metric("tolaria.validation.accuracy", accuracy),
                       metric("tolaria.validation.best_epoch", best)},
                      json::array(), epoch));
  }
  // The best so far.
  void add_checkpoint(int epoch, double loss, double accuracy) const {
    const std::string folder = checkpoint(epoch);
    json figures = {{"loss", loss}, {"accuracy", accuracy}};
    json best = figures;
    best["epoch"] = epoch;
    write_text(folder + "/run.json", json{{"progress",
                                           {{"epoch", epoch},
                                            {"batch", 0},
                                            {"step", 10 * epoch},
                                            {"wall_s", 1.5 * epoch},
                                            {"validation", figures},
                                            {"best", best}}}}
                                         .dump());
    write_text(folder + "/state.safetensors", std::string(1000, 's'));
  }
  std::string checkpoint(int epoch) const { return path + "/checkpoints/" + checkpoint_name(epoch); }
  static std::string checkpoint_name(int epoch) {
    return "epoch-000" + std::to_string(epoch) + "-step-0000000" + std::to_string(10 * epoch);
  }
  // Of a process that ended at that second.
  void add_summary(const std::string& status, int second, int epochs = 2) const {
    write_text(path + "/summary.json", json{{"status", status},
                                            {"reason", status == "done" ? "" : "because"},
                                            {"epochs", epochs},
                                            {"wall_s", 4.5},
                                            {"validation", {{"loss", 0.5}, {"accuracy", 0.75}}},
                                            {"best", {{"epoch", 1}, {"loss", 0.4}, {"accuracy", 0.7}}},
                                            {"ledger", {{"until", moment_at(second)}}}}
                                           .dump(2));
  }
};

}  // namespace esper::runs::test
