// step.compile.dynamic: one compiled program for every batch size.
#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "integration/lanes/lane_room.h"
#include "lanes/lane/recording.h"
#include "program/python_text.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"

namespace esper::test::dynamic_lanes_test {

using namespace esper;
using namespace esper::tests;
using Catch::Matchers::ContainsSubstring;
using config::HostKind;
using config::Lane;

namespace {

LaneCase of_size(LaneCase c, std::int64_t batch) {
  c.batch = batch;
  return c;
}

LaneCase for_all_sizes(LaneCase c) {
  c.config.step.compile.dynamic = true;
  return c;
}

LaneCase linear() { return for_all_sizes(lane_case("linear", HostKind::kLinear, leyline::features_shape(16, 4), 24)); }

LaneCase mlp() {
  LaneCase c = for_all_sizes(lane_case("mlp", HostKind::kMlp, leyline::features_shape(32, 32), 32));
  c.config.host.hidden = {32, 32};
  c.config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  c.config.training.optimizer.lr = 1e-3;
  c.config.training.clip_norm = 0.5;
  return c;
}

LaneCase cnn() {
  LaneCase c = for_all_sizes(lane_case("cnn", HostKind::kCnn, leyline::image_shape(1, 16, 16, 10), 32));
  c.config.host.blocks = c.config.host.pool_layers = 2;
  c.config.host.base_channels = 8;
  return c;
}

LaneCase transformer() {
  LaneCase c = for_all_sizes(lane_case("transformer", HostKind::kTransformer, leyline::tokens_shape(16, 32), 16));
  c.config.host.layers = 1;
  c.config.host.segments = 1;
  c.config.host.embedding = 32;
  c.config.host.heads = 4;
  c.config.host.dropout = 0.1;
  c.config.training.optimizer = mlp().config.training.optimizer;
  return c;
}

// The same steps in eager and in the lane; each comparison is of what the steps since the last one changed.
struct Pair {
  Pair(const LaneCase& c, program::CompileService* compile_service)
      : eager(c, Lane::kEager, nullptr), fast(c, Lane::kCompiled, compile_service) {}

  void steps(int count, const LaneCase& c, int accumulation = 1) {
    const auto tracked = lanes::tracked_tensors(*eager.model), actual = lanes::tracked_tensors(*fast.model);
    const auto before = values(tracked);
    eager.steps(count, c, seed_, accumulation);
    fast.steps(count, c, seed_, accumulation);
    seed_ += static_cast<std::uint64_t>(count);
    const auto different = program::first_difference(tracked, before, values(tracked), values(actual),
                                                     program::tolerance_of(torch::kFloat32));
    INFO(c.name << " batch " << c.batch << ": " << (different ? different->tensor : ""));
    CHECK_FALSE(different);
    // From here on both have the same state, so that no difference adds up.
    for (std::size_t i = 0; i < tracked.size(); ++i) actual[i].tensor.detach().copy_(tracked[i].tensor.detach());
  }

  LaneRun eager, fast;

 private:
  static std::vector<torch::Tensor> values(const std::vector<program::Tracked>& tracked) {
    std::vector<torch::Tensor> result;
    for (const auto& item : tracked) result.push_back(item.tensor.detach().clone());
    return result;
  }
  std::uint64_t seed_ = 1;
};

std::string reasons_in(const LaneRun& run) {
  std::string text;
  for (const auto& event : run.events) {
    if (const auto reason = event.attributes.find("reason"); reason != event.attributes.end()) {
      text += std::string(event.description) + ": " + reason->second + "\n";
    }
  }
  return text;
}

void check_one_package(const LaneCase& c, int accumulation = 1) {
  CAPTURE(c.name);
  const LaneRoom room;
  Pair pair(c, &room.compile_service());
  const torch::NoGradGuard no_grad;
  for (const std::int64_t n : {c.batch, c.batch - 3, c.batch, 2 * c.batch + 1, c.batch - 3, c.batch}) {
    pair.steps(4, of_size(c, n), accumulation);
  }
  INFO(reasons_in(pair.fast));
  CHECK(pair.fast.figures().steps_in(Lane::kCompiled) == 24 - 3 * 3);  // warm-up, recording and check of each size
  CHECK(pair.fast.events_named("tolaria.compile_finished").size() == 1);
  CHECK(pair.fast.events_named("tolaria.lane_refused").empty());
  CHECK(pair.fast.events_named("tolaria.compile_fallback").empty());
  const auto enabled = pair.fast.events_named("tolaria.compile_enabled");
  REQUIRE(enabled.size() == 3);
  CHECK(enabled.back().attributes.at("dynamic") == "true");
  CHECK(room.names_in("entries").size() == 1);
}

}  // namespace

TEST_CASE("one package serves every batch size of an mlp with accumulation") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_one_package(mlp(), 2);
}

TEST_CASE("one package serves every batch size of a cnn with batch norm") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_one_package(cnn());
}

TEST_CASE("one package serves every batch size of a transformer, with dropout drawn in eager's order") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_one_package(transformer());
}

namespace {

// The program of all sizes that a run of this case looks for.
program::SymbolicProgram program_for_all(const LaneCase& c) {
  auto model = make_model(c);
  const auto batch = make_batches(c, 1);
  const auto recorded = program_of(*model, batch);
  const auto forward = step::training_forward(model->network);
  auto symbolic = lanes::record_for_all_sizes(*model, batch, recorded, forward);
  if (!symbolic) FAIL(symbolic.error());
  return *symbolic;
}

}  // namespace

TEST_CASE("a run with another batch size finds the package and compiles nothing") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  room.stock(program_for_all(linear()));
  Pair later(linear(), &room.compile_service());
  later.steps(6, of_size(linear(), 17));
  CHECK(later.fast.figures().steps_in(Lane::kCompiled) == 3);
  CHECK(later.fast.events_named("tolaria.compile_started").empty());
  CHECK(room.names_in("entries").size() == 1);
}

TEST_CASE("a batch of one sample has its own program, and the run reports why") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  room.stock(program_for_all(linear()));
  Pair pair(linear(), &room.compile_service());
  pair.steps(4, linear());
  pair.steps(4, of_size(linear(), 1));
  const auto refused = pair.fast.events_named("tolaria.lane_refused");
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused.front().attributes.at("reason"), ContainsSubstring("outside 2 to 4096"));
  CHECK(pair.fast.events_named("tolaria.compile_finished").size() == 1);
  CHECK(room.names_in("entries").size() == 2);
  CHECK(pair.fast.figures().steps_in(Lane::kCompiled) == 2);
}

TEST_CASE("recording at other sizes leaves the model and its generator as they were") {
  at::set_num_threads(1);
  LaneCase c = cnn();
  c.config.host.dropout = 0.2;
  auto model = make_model(c), untouched = make_model(c);
  const auto batch = make_batches(c, 1);
  const auto forward = step::training_forward(model->network);
  device::seed_all(5);
  const auto recorded = lanes::record_undone(*model, batch, forward);
  const auto symbolic = lanes::record_for_all_sizes(*model, batch, *recorded, forward);
  CHECK(symbolic);
  CHECK(same_bits(*model, *untouched));
  const auto drawn = at::rand({4});
  device::seed_all(5);
  CHECK(at::equal(drawn, at::rand({4})));
}

TEST_CASE("a package that is right at one size and wrong at another is dropped for all, before it touches the state") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  LaneCase c = mlp();
  c.config.training.optimizer = {};
  c.config.training.optimizer.lr = 0.01;
  c.config.training.optimizer.momentum = 0.9;
  c.config.host.hidden = {80};
  const auto symbolic = program_for_all(c);
  const auto recipes = room.compile_service().recipes(symbolic);
  REQUIRE(recipes == std::vector<std::string>{"default"});
  std::string text = program::python_text(symbolic);
  const std::string from = ", 0.5)";  // of the clipping
  INFO(text);
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), ", 0.5 + (n - 32) / 50)");
  const std::string key = room.compile_service().key(symbolic, "default");
  plant(room, key, compile_text(room, text, "default"));

  auto& compile_service = room.compile_service();
  Pair pair(c, &compile_service);
  pair.steps(5, c);
  CHECK(pair.fast.figures().steps_in(Lane::kCompiled) == 2);
  CHECK(pair.fast.events_named("tolaria.compile_started").empty());
  pair.steps(5, of_size(c, 20));
  pair.steps(5, c);
  CHECK(pair.fast.figures().steps_in(Lane::kCompiled) == 2);
  CHECK(same_bits(*pair.eager.model, *pair.fast.model));
  CHECK(pair.fast.figures().quarantined == 1);
  CHECK(compile_service.cache().quarantine_reason(key, program::EntryFault::kWrong));

  // A later run knows, says so once, and compiles each size by itself.
  Pair later(c, &compile_service);
  later.steps(5, c);
  later.steps(5, of_size(c, 20));
  const auto refused = later.fast.events_named("tolaria.lane_refused");
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused.front().attributes.at("reason"), ContainsSubstring("quarantined"));
  CHECK(later.fast.figures().steps_in(Lane::kCompiled) == 4);
  CHECK(room.names_in("entries").size() == 2);
}

TEST_CASE("if the program for all sizes does not compile, each size has its own, and the run reports it once") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  {
    auto model = make_model(linear());
    room.stock(program_of(*model, make_batches(linear(), 1)));  // of this size
  }
  const auto compiler = room.path / "g++";
  std::ofstream(compiler) << "#!/bin/sh\ncase \"$1\" in *version) exec g++ \"$@\";; esac\necho out of order; exit 1\n";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  ::setenv("CXX", compiler.c_str(), 1);
  const auto compile_service = room.new_compile_service();
  Pair pair(linear(), compile_service.get());
  pair.steps(6, linear());
  ::unsetenv("CXX");
  const auto refused = pair.fast.events_named("tolaria.lane_refused");
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused.front().attributes.at("reason"), ContainsSubstring("out of order"));
  CHECK(pair.fast.events_named("tolaria.compile_fallback").empty());
  CHECK(pair.fast.events_named("tolaria.compile_enabled").front().attributes.at("dynamic") == "false");
  CHECK(pair.fast.figures().steps_in(Lane::kCompiled) == 3);  // all but warm-up, recording and check
}

namespace {

// Steps of two sizes in turns, with a journal that another one can follow.
struct Journey {
  Journey(const LaneCase& c, program::CompileService* compile_service, const std::string& journal_path, bool dynamic)
      : c_(c), model(make_model(c)), journal_(storage::real_file_system(), journal_path) {
    config::StepConfig config;
    config.lane = Lane::kCompiled;
    config.compile.dynamic = dynamic;
    lanes::RunnerServices services;
    services.compile_service = compile_service;
    services.emit = [this](leyline::TelemetryEvent event) { events.push_back(std::move(event)); };
    services.append_record = [this](const std::string& record) { journal_.append(record); };
    services.log = lanes::read_lane_log(storage::real_file_system(), journal_path, 0);
    runner = std::make_unique<lanes::StepRunner>(*model, config, torch::kCPU, std::move(services));
  }
  void run(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      const LaneCase now = of_size(c_, step % 4 == 3 ? c_.batch - 3 : c_.batch);
      runner->step(make_batches(now, 1, static_cast<std::uint64_t>(step)), {step, 1000});
    }
  }
  void start_from(const step::Model& other) const {
    const torch::NoGradGuard no_grad;
    const auto to = step::named_tensors(model->state), from = step::named_tensors(other.state);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].tensor.detach().copy_(from[i].tensor.detach());
  }

  LaneCase c_;
  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  storage::JournalWriter journal_;
  std::unique_ptr<lanes::StepRunner> runner;
};

}  // namespace

TEST_CASE("a resumed run repeats the steps of all sizes bit for bit, whatever is selected now") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  room.stock(program_for_all(linear()));
  auto& compile_service = room.compile_service();
  const auto journal = room.path / "journal";
  Journey whole(linear(), &compile_service, journal, true),
      checkpoint(linear(), &compile_service, room.path / "other", true);
  constexpr std::int64_t kStop = 19;  // the next step is one of the smaller size
  whole.run(0, kStop);
  checkpoint.start_from(*whole.model);
  whole.run(kStop, 40);
  REQUIRE(whole.runner->figures().steps_in(Lane::kCompiled) == 40 - 6);
  for (const bool dynamic : {true, false}) {
    CAPTURE(dynamic);
    Journey resumed(linear(), &compile_service, journal, dynamic);
    resumed.start_from(*checkpoint.model);
    resumed.run(kStop, 40);
    CHECK(same_bits(*whole.model, *resumed.model));
    CHECK(resumed.runner->figures().steps_in(Lane::kCompiled) == 40 - kStop);
    for (const auto& event : resumed.events) CHECK(event.description != "tolaria.lane_refused");
  }
  CHECK(room.names_in("entries").size() == 1);
}

}  // namespace esper::test::dynamic_lanes_test
