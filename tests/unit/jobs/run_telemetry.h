#pragma once
// Telemetry as a run writes it, for readers of a job's run folder.

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "leyline/seed.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"

namespace esper::jobs::tests {

using namespace leyline::literals;

inline std::string line_of(leyline::TelemetryPacket packet, std::uint32_t epoch) {
  packet.timestamp = "2026-03-01T12:00:00.000000Z";
  leyline::finish_packet(packet, epoch);
  std::string line;
  nissa::append_json_line(packet, line);
  return line;
}

inline std::string epoch_line(std::uint32_t epoch, double loss) {
  leyline::TelemetryPacket packet;
  packet.packet_id = "run-epoch-" + std::to_string(epoch);
  packet.source_subsystem = "tolaria";
  packet.metrics.push_back(metric("tolaria.training.loss"_metric, loss));
  packet.metrics.push_back(metric("tolaria.epochs.total"_metric, epoch));
  packet.metrics.push_back(metric("tolaria.validation.loss"_metric, loss + 1));
  packet.metrics.push_back(metric("tolaria.validation.accuracy"_metric, 0.5));
  packet.metrics.push_back(metric("tolaria.validation.latency_ms"_metric, 7));  // none of the task's figures
  return line_of(std::move(packet), epoch);
}

inline std::string seed_line(std::uint32_t epoch, const std::string& id, const std::string& stage, double alpha) {
  leyline::TelemetryPacket packet;
  packet.packet_id = "run-epoch-" + std::to_string(epoch) + "-" + id;
  packet.source_subsystem = "kasmina";
  packet.metrics.push_back(metric("kasmina.seed.stage"_metric, 3,
                                  {{"seed_id", id}, {"slot", "r0c0"}, {"blueprint", "conv_light"}, {"stage", stage}}));
  packet.metrics.push_back(metric("kasmina.seed.alpha"_metric, alpha,
                                  {{"seed_id", id}, {"slot", "r0c0"}, {"blueprint", "conv_light"}, {"stage", stage}}));
  return line_of(std::move(packet), epoch);
}

inline void append(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

}  // namespace esper::jobs::tests
