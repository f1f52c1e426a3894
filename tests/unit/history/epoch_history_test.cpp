#include "history/telemetry/epoch_history.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "config/training_config.h"
#include "support/temporary_folder.h"

namespace esper::history::epoch_history_test {

using Catch::Matchers::ContainsSubstring;
using esper::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string packet_line(int epoch, const json& metrics, const json& events = json::array()) {
  json list = json::array();
  for (const auto& [name, value] : metrics.items()) {
    list.push_back({{"name", name}, {"value", value}, {"unit", ""}, {"attributes", json::object()}});
  }
  return json{{"packet_id", "p"},
              {"metrics", list},
              {"events", events},
              {"system_health", {{"indicators", {{"epoch", std::to_string(epoch)}}}}}}
             .dump() +
         "\n";
}

std::string epoch_packet(int epoch, double loss) {
  return packet_line(epoch, {{"tolaria.epochs.total", epoch},
                             {"tolaria.training.steps_total", 8 * epoch},
                             {"tolaria.training.loss", loss},
                             {"tolaria.training.latency_ms", 1500},
                             {"tolaria.validation.loss", loss + 1},
                             {"tolaria.validation.accuracy", 0.5},
                             {"tolaria.lr_controller.current_lr", 0.02},
                             {"tolaria.seeds.active", 1},
                             {"tolaria.training.params", 346}});
}

std::string resumed_packet(int epoch) {
  const json event{{"description", "tolaria.resumed"}, {"attributes", {{"epoch", std::to_string(epoch)}}}};
  return packet_line(epoch, json::object(), json::array({event}));
}

struct Run {
  TemporaryFolder folder;

  void append(const std::string& text, const std::string& file = "telemetry.jsonl") const {
    std::ofstream(folder / file, std::ios::app | std::ios::binary) << text;
  }
  EpochHistory history() const { return read_epoch_history(folder.path()); }
};

std::size_t column_of(std::string_view name) {
  const auto& columns = epoch_columns();
  const auto found = std::ranges::find(columns, name, &EpochColumn::name);
  REQUIRE(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

std::optional<double> value_of(const EpochFigures& figures, std::string_view name) {
  return figures.values[column_of(name)];
}

std::vector<std::uint32_t> epochs_of(const EpochHistory& history) {
  std::vector<std::uint32_t> epochs;
  for (const EpochFigures& figures : history.epochs) epochs.push_back(figures.epoch);
  return epochs;
}

}  // namespace

TEST_CASE("every metric that a run can be judged by is a column") {
  for (const auto& [metric, name] : config::names(config::Metric{})) column_of("validation_" + std::string(name));
  for (const EpochColumn& column : epoch_columns()) CHECK_FALSE(column.name.empty());
}

TEST_CASE("an epoch has the figures that its packet reports, from earlier telemetry files too") {
  const Run run;
  run.append(epoch_packet(1, 2.0), "telemetry-000001.jsonl");
  run.append(packet_line(2, {{"tolaria.training.loss", 9}}));  // within the epoch
  run.append(epoch_packet(2, 1.0));
  const EpochHistory history = run.history();
  REQUIRE(epochs_of(history) == std::vector<std::uint32_t>{1, 2});
  const EpochFigures& second = history.epochs[1];
  CHECK(value_of(second, "steps") == 16);
  CHECK(value_of(second, "training_loss") == 1.0);
  CHECK_FALSE(value_of(second, "training_accuracy"));
  CHECK(value_of(second, "validation_loss") == 2.0);
  CHECK(value_of(second, "validation_accuracy") == 0.5);
  CHECK(value_of(second, "learning_rate") == 0.02);
  CHECK(value_of(second, "seconds") == 1.5);
  CHECK(value_of(second, "active_seeds") == 1);
  CHECK(value_of(second, "parameters") == 346);
  CHECK(history.has(column_of("validation_accuracy")));
  CHECK_FALSE(history.has(column_of("validation_f1")));
  CHECK(history.gaps.empty());
}

TEST_CASE("an epoch that was trained again has its later figures, and discarded epochs are left out") {
  const Run run;
  for (const int epoch : {1, 2, 3, 4}) run.append(epoch_packet(epoch, epoch));
  run.append(resumed_packet(1));
  run.append(epoch_packet(2, 20.0));
  EpochHistory history = run.history();
  REQUIRE(epochs_of(history) == std::vector<std::uint32_t>{1, 2});
  CHECK(value_of(history.epochs[1], "training_loss") == 20.0);
  run.append(epoch_packet(2, 21.0));  // after a rollback
  history = run.history();
  REQUIRE(epochs_of(history) == std::vector<std::uint32_t>{1, 2});
  CHECK(value_of(history.epochs[1], "training_loss") == 21.0);
}

TEST_CASE("damaged lines and values are skipped, and the lines are counted") {
  const Run run;
  run.append("no packet\n" + epoch_packet(1, 2.0));
  run.append(packet_line(2, {{"tolaria.epochs.total", 2},
                             {"tolaria.training.loss", nullptr},
                             {"tolaria.training.steps_total", 1e300},
                             {"tolaria.seeds.active", -1},
                             {"tolaria.training.params", 1.5},
                             {"tolaria.training.latency_ms", "long"}}));
  run.append("{\"packet_id\":\"torn");
  const EpochHistory history = run.history();
  REQUIRE(epochs_of(history) == std::vector<std::uint32_t>{1, 2});
  CHECK(std::ranges::none_of(history.epochs[1].values, [](const auto& value) { return value.has_value(); }));
  CHECK(history.damaged_lines == 2);
  REQUIRE(history.gaps.size() == 1);
  CHECK_THAT(history.gaps[0], ContainsSubstring("2 damaged lines"));
}

TEST_CASE("a run without telemetry has no history") {
  const Run run;
  CHECK_THROWS_WITH(run.history(), ContainsSubstring("has no telemetry.jsonl"));
}

}  // namespace esper::history::epoch_history_test
