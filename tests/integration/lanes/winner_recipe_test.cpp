// Where two lowerings compete and one of them comes to nothing, the other is still compiled with full effort.
#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <thread>

#include "integration/lanes/lane_room.h"
#include "program/python_text.h"
#include "support/patience.h"

namespace esper::test::winner_recipe_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

// A run in auto that tells its events to somebody who may interfere.
struct WatchedRun {
  WatchedRun(const LaneCase& c, program::CompileService& compile_service,
             std::function<void(const leyline::TelemetryEvent&)> watch)
      : case_(c), model(make_model(c)) {
    config::StepConfig config;
    config.lane = Lane::kAuto;
    runner = std::make_unique<lanes::StepRunner>(
        *model, config, torch::kCPU,
        lanes::RunnerServices{&compile_service, nullptr, {}, [this, watch](const leyline::TelemetryEvent& event) {
                                events.push_back(event);
                                watch(event);
                              }});
  }

  // Trains until nothing is left to try; false after a deadline.
  bool settle() {
    constexpr std::int64_t kManyLeft = 100'000'000;
    // So many samples that they cannot be learnt: gradients do not vanish.
    constexpr std::size_t kBatches = 64;
    std::vector<std::vector<step::Microbatch>> batches;
    for (std::size_t i = 0; i < kBatches; ++i) batches.push_back(make_batches(case_, 1, i));
    const auto end = std::chrono::steady_clock::now() + test::kLongPatience;
    for (std::int64_t step = 0; std::chrono::steady_clock::now() < end; ++step) {
      runner->step(batches[static_cast<std::size_t>(step) % kBatches], {step, kManyLeft});
      if (runner->settled()) return true;
      if (runner->figures().pending > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return false;
  }

  std::vector<std::string> started() const {
    std::vector<std::string> keys;
    for (const auto& event : events) {
      if (event.description == "tolaria.compile_started") keys.push_back(event.attributes.at("key"));
    }
    return keys;
  }

  LaneCase case_;
  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<lanes::StepRunner> runner;
};

struct Keys {
  std::string text, first, last;
};

// Of a step for which two lowerings compete.
Keys keys_of(const LaneCase& c, program::CompileService& compile_service) {
  auto model = make_model(c);
  const auto program = program_of(*model, make_batches(c, 1));
  const auto recipes = compile_service.recipes(program);
  REQUIRE(recipes.size() == 2);
  return {program::python_text(program), compile_service.key(program, recipes.front()),
          compile_service.key(program, recipes.back())};
}

void check_full_effort(WatchedRun& run, program::CompileService& compile_service, const Keys& keys) {
  REQUIRE(run.settle());
  std::string happened;
  for (const auto& event : run.events) {
    happened += event.description;
    for (const auto& [name, value] : event.attributes) happened += fmt::format(" {}={}", name, value);
    happened += "\n";
  }
  INFO(happened);
  CHECK(run.started() == std::vector<std::string>{keys.first, keys.last, keys.first});
  const auto found = compile_service.cache().find(keys.first);
  REQUIRE(found);
  CHECK(found->facts.effort == "full");
}

}  // namespace

TEST_CASE("the last recipe computes something else: the first one is still compiled in full") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const LaneCase c = lane_cases().front();
  auto& compile_service = room.compile_service();
  const Keys keys = keys_of(c, compile_service);
  std::string uphill = keys.text;
  const std::string descends = ", value=-1)\n    return";
  REQUIRE(uphill.find(descends) != std::string::npos);
  uphill.replace(uphill.find(descends), descends.size(), ", value=1)\n    return");
  const std::string wrong = compile_text(room, uphill, "default");
  WatchedRun run(c, compile_service, [&](const leyline::TelemetryEvent& event) {
    if (event.description != "tolaria.compile_finished" || event.attributes.at("key") != keys.last) return;
    plant(room, keys.last, wrong);
  });
  check_full_effort(run, compile_service, keys);
  CHECK(run.runner->figures().quarantined == 1);
}

TEST_CASE("the last recipe does not get into the cache: the first one is still compiled in full") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const LaneCase c = lane_cases().front();
  auto& compile_service = room.compile_service();
  const Keys keys = keys_of(c, compile_service);
  WatchedRun run(c, compile_service, [&](const leyline::TelemetryEvent& event) {
    if (event.description != "tolaria.compile_started" || event.attributes.at("key") != keys.last) return;
    std::filesystem::create_directories(room.cache() + "/entries/" + keys.last + "/in_the_way");
  });
  check_full_effort(run, compile_service, keys);
}

}  // namespace esper::test::winner_recipe_test
