#include "run_record.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "base/names.h"
#include "leyline/seed.h"

namespace esper::test {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// One story for each epoch.
void note(std::map<int, std::string>& stories, int epoch, const std::string& story) {
  const auto [place, is_new] = stories.emplace(epoch, story);
  CAPTURE(epoch);
  if (!is_new) CHECK(place->second == story);
}

void record_epoch(RunRecord& record, const json& packet) {
  std::map<std::string, double> values;
  for (const auto& metric : packet["metrics"]) values[metric["name"]] = metric["value"];
  if (!values.contains("tolaria.training.loss")) return;
  const json figures = {values["tolaria.training.loss"], values["tolaria.training.accuracy"],
                        values["tolaria.training.gradient_norm"], values["tolaria.validation.loss"],
                        values["tolaria.validation.accuracy"]};
  note(record.epochs, static_cast<int>(values.at("tolaria.epochs.total")), figures.dump());
}

// The first packet of a process that resumed the run.
bool is_of_resumed_process(const json& packet) {
  return std::ranges::any_of(packet["events"],
                             [](const json& event) { return event["description"] == "tolaria.resumed"; });
}

}  // namespace

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

json read_json(const fs::path& file) { return json::parse(contents_of(file), nullptr, false); }

std::vector<std::string> checkpoints_of(const fs::path& run) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("epoch-") && name.find('.') == std::string::npos) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

json state_of(const fs::path& run, const std::string& checkpoint) {
  return read_json(run / "checkpoints" / checkpoint / "run.json");
}

std::string stages_of(const json& state) {
  std::string text;
  for (const auto& slot : state["topology"]["slots"]) {
    const auto stage = static_cast<leyline::Stage>(slot["stage"].get<int>());
    text += (text.empty() ? "" : " ") + std::string(base::name_of(stage));
  }
  return text;
}

void copy_run_until(const fs::path& from, const std::string& checkpoint, const fs::path& to) {
  fs::create_directories(to / "checkpoints");
  fs::copy_file(from / "config.yaml", to / "config.yaml");
  fs::copy_file(from / "journal", to / "journal");
  for (const auto& name : checkpoints_of(from)) {
    if (name <= checkpoint) fs::copy(from / "checkpoints" / name, to / "checkpoints" / name);
  }
}

std::vector<json> packets_of(const fs::path& run) {
  const std::string text = contents_of(run / "telemetry.jsonl");
  std::vector<json> packets;
  std::vector<std::string> torn;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json packet = json::parse(line, nullptr, false);
    if (packet.is_object()) {
      packets.push_back(std::move(packet));
    } else {
      torn.push_back(line);
    }
  }
  CAPTURE(torn);
  const bool ends_within_line = !text.empty() && text.back() != '\n';
  REQUIRE(std::ssize(torn) <= std::ranges::count_if(packets, is_of_resumed_process) + ends_within_line);
  return packets;
}

std::vector<json> events_of(const fs::path& run, const std::string& name) {
  std::vector<json> found;
  for (const auto& packet : packets_of(run)) {
    for (const auto& event : packet["events"]) {
      if (event["description"] == name) found.push_back(event);
    }
  }
  return found;
}

std::vector<double> values_of(const fs::path& run, const std::string& name) {
  std::vector<double> values;
  for (const auto& packet : packets_of(run)) {
    for (const auto& metric : packet["metrics"]) {
      if (metric["name"] == name) values.push_back(metric["value"]);
    }
  }
  return values;
}

std::size_t compiled_steps(const fs::path& run) {
  double steps = 0;
  for (const auto& packet : packets_of(run)) {
    for (const auto& metric : packet["metrics"]) {
      if (metric["name"] == "tolaria.step.lane_steps_total" && metric["attributes"].value("lane", "") == "compiled") {
        steps = std::max(steps, metric["value"].get<double>());
      }
    }
  }
  return static_cast<std::size_t>(steps);
}

RunRecord record_of(const fs::path& run) {
  RunRecord record;
  const auto names = checkpoints_of(run);
  REQUIRE_FALSE(names.empty());
  record.last_checkpoint = names.back();
  record.tensors = contents_of(run / "checkpoints" / names.back() / "state.safetensors");
  record.state = state_of(run, names.back());
  record.state["progress"].erase("wall_s");
  const json summary = read_json(run / "summary.json");
  for (const char* key : {"epochs", "steps", "parameters", "train", "validation", "best", "seeds"})
    record.summary[key] = summary.at(key);
  for (const auto& packet : packets_of(run)) record_epoch(record, packet);
  for (const auto& event : events_of(run, "tamiyo.decision")) {
    const auto& facts = event["attributes"];
    note(record.decisions, std::stoi(facts["epoch"].get<std::string>()), facts.dump());
  }
  return record;
}

void check_equal(const RunRecord& got, const RunRecord& expected, Telemetry telemetry) {
  CHECK(got.last_checkpoint == expected.last_checkpoint);
  CHECK(got.tensors.size() == expected.tensors.size());
  CHECK((got.tensors == expected.tensors));
  CHECK(got.state.dump(1) == expected.state.dump(1));
  CHECK(got.summary.dump(1) == expected.summary.dump(1));
  for (const auto& [epoch, figures] : got.epochs) CHECK(figures == expected.epochs.at(epoch));
  for (const auto& [epoch, decision] : got.decisions) CHECK(decision == expected.decisions.at(epoch));
  if (telemetry == Telemetry::kMayLack) return;
  CHECK(got.epochs.size() == expected.epochs.size());
  CHECK(got.decisions.size() == expected.decisions.size());
}

}  // namespace esper::test
