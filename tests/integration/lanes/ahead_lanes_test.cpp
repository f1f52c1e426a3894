// Compiled programs of structures that may come.

#include <ATen/Parallel.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <new>
#include <thread>

#include "base/interrupt.h"
#include "integration/lanes/lane_room.h"
#include "program/python_text.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"
#include "support/faults/failing_allocator.h"
#include "support/models/growing_prepared.h"
#include "support/patience.h"

namespace esper::test::ahead_lanes_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using leyline::SeedOperation;

namespace {

LaneCase small_growing() {
  LaneCase c = growing_case();
  c.config.host.hidden = {12, 12};
  c.config.training.optimizer = {};
  c.config.training.optimizer.lr = 0.01;
  c.config.training.optimizer.momentum = 0.9;
  c.config.training.ema_decay = 0;
  return c;
}

void grow(GrowingPrepared& it) { REQUIRE_FALSE(GrowingModel::refused(it.change(it.germination("r0c0", "mlp")))); }

}  // namespace

TEST_CASE("in lane compiled a germination's first step is compiled, with the same bits with or without preparation") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  GrowingPrepared foreseen(Lane::kCompiled, &persistent_compile_service(), small_growing());
  GrowingPrepared surprised(Lane::kCompiled, &persistent_compile_service(), small_growing());
  for (GrowingPrepared* each : {&foreseen, &surprised}) {
    each->steps(5);
    REQUIRE(each->steps_in(Lane::kCompiled) > 0);
  }
  foreseen.prepare({germinates("r0c0", "mlp")});
  for (GrowingPrepared* each : {&foreseen, &surprised}) {
    const auto eager_steps = each->steps_in(Lane::kEager);
    grow(*each);
    each->steps(4);
    CHECK(each->steps_in(Lane::kEager) == eager_steps);
    each->change(each->command(SeedOperation::kCull, "seed-0001"));
    each->steps(4);
    CHECK(each->steps_in(Lane::kEager) == eager_steps);
  }
  CHECK(first_difference(copies_of(*foreseen.model), copies_of(*surprised.model)) == "");
}

TEST_CASE("in auto a structure that was left before any lane was compared is compiled when it comes again") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  GrowingPrepared stocking(Lane::kCompiled, &persistent_compile_service(), small_growing());
  stocking.steps(5);
  grow(stocking);
  stocking.steps(4);  // the cache has the programs of both structures

  GrowingPrepared it(Lane::kAuto, &persistent_compile_service(), small_growing());
  const auto settle = [&] {
    constexpr int kMost = 1000;
    it.steps(1);
    for (int i = 0; i < kMost && !it.runner->settled(); ++i) it.steps(1);
    REQUIRE(it.runner->settled());
  };
  settle();
  grow(it);
  it.steps(2);  // recorded, not compared
  it.change(it.command(SeedOperation::kCull, "seed-0001"));
  for (int epoch = 0; epoch < 4; ++epoch) it.end_epoch(it.good_facts());
  it.runner->structure_changes().take_structure(it.number);
  settle();
  REQUIRE(it.runner->figures().in_use != Lane::kEager);
  const std::int64_t compiled_steps = it.steps_in(Lane::kCompiled);
  grow(it);
  settle();
  CHECK(it.steps_in(Lane::kCompiled) > compiled_steps);
}

namespace {

// A run resumed from tensors and records of another one, whose next step is the first after a germination.
struct Resumed : GrowingPrepared {
  Resumed(const LaneRoom& room, const GrowingPrepared& from, const std::map<std::string, torch::Tensor>& checkpoint,
          program::CompileService& compile_service)
      : GrowingPrepared(Lane::kCompiled, &compile_service, small_growing()) {
    const std::string journal = room.path / "journal";
    std::filesystem::remove(journal);
    {
      storage::JournalWriter writer(storage::real_file_system(), journal);
      for (const std::string& record : from.records) writer.append(record);
    }
    apply(germination("r0c0", "mlp"));
    const torch::NoGradGuard no_grad;
    for (const auto& [id, tensor] : step::all_tensors(*model, torch::kCPU)) {
      tensor.detach().copy_(checkpoint.at(id));
    }
    number = 5;
    follow(lanes::read_lane_log(storage::real_file_system(), journal, 0));
  }
};

void check_goes_on_as(const GrowingPrepared& whole, Resumed& resumed) {
  resumed.steps(6);
  CHECK(resumed.steps_in(Lane::kCompiled) == 6);
  CHECK(resumed.count_events("tolaria.lane_refused") == 0);
  CHECK(first_difference(copies_of(*whole.model), copies_of(*resumed.model)) == "");
}

// Returns the state right after the germination, and leaves the records of then, as a run has them that was killed
// there.
std::map<std::string, torch::Tensor> train_past_germination(GrowingPrepared& whole) {
  whole.steps(5);
  grow(whole);
  auto checkpoint = copies_of(*whole.model);
  const std::vector<std::string> records = whole.records;
  whole.steps(6);
  whole.records = records;
  return checkpoint;
}

// SIGTERM to this process once the file is there, unless the thread is to end before.
std::jthread terminate_when_there(const std::filesystem::path& file) {
  return std::jthread([file](const std::stop_token& ended) {
    while (!std::filesystem::exists(file)) {
      if (ended.stop_requested()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(::getpid(), SIGTERM);
  });
}

// The program that the host's steps are.
program::Program host_program() {
  GrowingModel host(small_growing());
  return program_of(*host.model, make_batches(host.c, 1));
}

// A compiler in the environment of workers that start meanwhile.
class Compiler {
 public:
  Compiler(const LaneRoom& room, const std::string& does) {
    const auto script = room.path / "g++";
    std::ofstream(script) << "#!/bin/sh\ncase \"$1\" in --version) echo g++ 12;; -dumpversion) echo 12;; *) " << does
                          << ";; esac\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    ::setenv("CXX", script.c_str(), 1);
  }
  ~Compiler() { ::unsetenv("CXX"); }
  Compiler(const Compiler&) = delete;
};

}  // namespace

TEST_CASE("a run resumed right after a germination in lane compiled has the bits it would have had") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  GrowingPrepared whole(Lane::kCompiled, &persistent_compile_service(), small_growing());
  const auto checkpoint = train_past_germination(whole);
  // Also where the cache does not have the program: it was emptied since.
  for (program::CompileService* compile_service : {&persistent_compile_service(), &room.compile_service()}) {
    Resumed resumed(room, whole, checkpoint, *compile_service);
    check_goes_on_as(whole, resumed);
  }
}

TEST_CASE("a run resumed right before a germination in lane compiled has the bits it would have had") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  constexpr std::int64_t kLastBatch = 5;
  const auto epoch = [](GrowingPrepared& it) {
    it.steps(5);
    it.step_of(kLastBatch);
  };
  GrowingPrepared whole(Lane::kCompiled, &persistent_compile_service(), small_growing());
  for (int i = 0; i < 4; ++i) epoch(whole);
  const auto checkpoint = copies_of(*whole.model);
  const LaneRoom room;
  const std::string journal = room.path / "journal";
  {
    storage::JournalWriter writer(storage::real_file_system(), journal);
    for (const std::string& record : whole.records) writer.append(record);
  }
  const std::int64_t number = whole.number;
  const auto eager_steps = whole.steps_in(Lane::kEager);
  grow(whole);
  epoch(whole);
  CHECK(whole.steps_in(Lane::kEager) == eager_steps);

  const bool knows_shapes = GENERATE(true, false);
  CAPTURE(knows_shapes);
  GrowingPrepared resumed(Lane::kCompiled, &persistent_compile_service(), small_growing());
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [id, tensor] : step::all_tensors(*resumed.model, torch::kCPU)) {
      tensor.detach().copy_(checkpoint.at(id));
    }
  }
  resumed.number = number;
  resumed.follow(lanes::read_lane_log(storage::real_file_system(), journal, number));
  LaneCase last = resumed.c;
  last.batch = kLastBatch;
  if (knows_shapes) {
    for (const LaneCase& c : {resumed.c, last}) {
      resumed.runner->structure_changes().keep_example(make_batches(c, 1), 1000);
    }
  }
  grow(resumed);
  epoch(resumed);
  CHECK((resumed.steps_in(Lane::kEager) == 0) == knows_shapes);
  CHECK(resumed.count_events("tolaria.lane_refused") == 0);
  CHECK((first_difference(copies_of(*whole.model), copies_of(*resumed.model)) == "") == knows_shapes);
}

TEST_CASE(
    "a signal while the run waits for a program after a germination ends the wait, and it resumes as it would have "
    "gone on") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  GrowingPrepared whole(Lane::kCompiled, &persistent_compile_service(), small_growing());
  whole.steps(5);
  grow(whole);
  whole.steps(6);

  room.stock(host_program());
  const auto called = room.path / "called";
  const auto compile_service = room.new_compile_service();
  GrowingPrepared stopped(Lane::kCompiled, compile_service.get(), small_growing());
  stopped.steps(5);
  REQUIRE(stopped.steps_in(Lane::kCompiled) > 0);
  {
    const Compiler hangs(room, "touch " + called.string() + "; sleep 3000");
    base::Interrupt interrupt;
    interrupt.begin_saving();
    std::jthread sender = terminate_when_there(called);
    grow(stopped);
    sender.request_stop();
    sender.join();
    CHECK(std::filesystem::exists(called));
    CHECK(base::Interrupt::requested() == SIGTERM);
  }
  CHECK(stopped.count_events("tolaria.compile_fallback") == 0);
  CHECK(stopped.count_events("tolaria.growth_unprepared") == 0);
  CHECK(stopped.runner->figures().pending == 0);
  Resumed resumed(room, stopped, copies_of(*stopped.model), persistent_compile_service());
  check_goes_on_as(whole, resumed);
}

TEST_CASE("a signal while a resumed run compiles a recorded program again ends it before the step, with its records") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  GrowingPrepared whole(Lane::kCompiled, &persistent_compile_service(), small_growing());
  const auto checkpoint = train_past_germination(whole);

  const auto called = room.path / "called";
  const auto compile_service = room.new_compile_service();
  Resumed stopped(room, whole, checkpoint, *compile_service);
  const auto batches = make_batches(stopped.c, 1);
  const auto before = copies_of(*stopped.model);
  {
    const Compiler hangs(room, "touch " + called.string() + "; sleep 3000");
    base::Interrupt interrupt;
    interrupt.begin_saving();
    std::jthread sender = terminate_when_there(called);
    CHECK_FALSE(stopped.runner->step(batches, {stopped.number, 1000}));
    sender.request_stop();
    sender.join();
    CHECK(base::Interrupt::requested() == SIGTERM);
  }
  CHECK(stopped.count_events("tolaria.lane_refused") == 0);
  CHECK(stopped.records.empty());
  CHECK(first_difference(before, copies_of(*stopped.model)) == "");
  Resumed resumed(room, whole, checkpoint, persistent_compile_service());
  check_goes_on_as(whole, resumed);
}

TEST_CASE("in lane compiled a structure without memory to prepare it starts unprepared") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  GrowingPrepared run(Lane::kCompiled, &persistent_compile_service(), small_growing());
  run.steps(5);
  run.scratch_model_failure = std::make_exception_ptr(std::bad_alloc());
  run.prepare({germinates("r0c0", "mlp")});
  CHECK(run.count_events("tolaria.growth_unprepared") == 1);
  const auto eager_steps = run.steps_in(Lane::kEager), compiled_steps = run.steps_in(Lane::kCompiled);
  grow(run);
  run.steps(6);
  CHECK(run.count_events("tolaria.growth_unprepared") ==
        1);  // and no second scratch model is tried when the structure comes
  CHECK(run.scratch_models_made == 1);
  CHECK(run.steps_in(Lane::kEager) == eager_steps + 3);  // warm-up, recording, check
  CHECK(run.steps_in(Lane::kCompiled) == compiled_steps + 3);
  CHECK(run.runner->figures().checks_failed == 0);
  CHECK(run.count_events("tolaria.compile_fallback") == 0);
}

TEST_CASE(
    "in lane compiled, once there was no memory to keep a batch, no change of structure is prepared, and what was "
    "known before runs on") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  constexpr std::int64_t kShorter = 5;
  GrowingPrepared run(Lane::kCompiled, &persistent_compile_service(), small_growing());
  run.steps(5);
  const auto batch = make_batches(
      [] {
        LaneCase c = small_growing();
        c.batch = kShorter;
        return c;
      }(),
      1);
  test::FailingAllocator::instance().fail_at(1);
  run.runner->step(batch, {5, 1000});
  REQUIRE(test::FailingAllocator::instance().fired());
  CHECK(run.count_events("tolaria.growth_unprepared") == 1);
  for (int i = 0; i < 4; ++i) run.step_of(kShorter);
  REQUIRE(run.steps_in(Lane::kCompiled) == 2 + 2);
  grow(run);
  run.steps(4);
  CHECK(run.steps_in(Lane::kCompiled) == 4 + 1);  // without warm-up, recording and check
  run.change(run.command(SeedOperation::kCull, "seed-0001"));
  run.steps(2);
  CHECK(run.steps_in(Lane::kCompiled) == 5 + 2);
  run.step_of(kShorter);  // a shape whose batch was not kept starts unprepared
  CHECK(run.steps_in(Lane::kCompiled) == 7);
  CHECK(run.count_events("tolaria.growth_unprepared") == 1);
  CHECK(run.scratch_models_made == 0);
}

TEST_CASE("in lane compiled a new structure without room for a scratch model starts unprepared") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  GrowingPrepared run(Lane::kCompiled, &persistent_compile_service(), small_growing());
  run.steps(5);
  run.memory = device::MemoryFigures{.peak_bytes = 10 << 20, .free_bytes = 10 << 20};
  const auto compiled_steps = run.steps_in(Lane::kCompiled);
  grow(run);
  run.steps(6);
  CHECK(run.scratch_models_made == 0);
  CHECK(run.count_events("tolaria.growth_unprepared") == 1);
  CHECK(run.steps_in(Lane::kCompiled) == compiled_steps + 3);
}

TEST_CASE(
    "in lane compiled a structure whose program does not compile runs in eager, says so once, and leaves no harm") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  room.stock(host_program());
  const auto compile_service = room.new_compile_service();
  const Compiler fails(room, "echo out of order; exit 1");
  GrowingPrepared run(Lane::kCompiled, compile_service.get(), small_growing());
  run.steps(5);
  const auto eager_steps = run.steps_in(Lane::kEager);
  grow(run);
  run.steps(4);
  CHECK(run.steps_in(Lane::kEager) == eager_steps + 4);
  CHECK(run.count_events("tolaria.compile_fallback") == 1);
  const auto compiled_steps = run.steps_in(Lane::kCompiled);
  run.change(run.command(SeedOperation::kCull, "seed-0001"));
  run.steps(4);
  CHECK(run.count_events("tolaria.compile_fallback") == 1);
  CHECK(std::isfinite(step::read_metrics(run.model->state).loss));
  CHECK(run.steps_in(Lane::kCompiled) == compiled_steps + 1);  // the host's program again, after its check
}

TEST_CASE(
    "with one program for all batch sizes a structure foreseen has one package, and runs it at each size at once") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  LaneCase c = small_growing();
  c.config.step.compile.dynamic = true;
  constexpr std::int64_t kShorter = 5;
  GrowingPrepared foreseen(Lane::kCompiled, &room.compile_service(), c);
  GrowingPrepared surprised(Lane::kCompiled, &room.compile_service(), c);
  const auto both = [&](int rounds) {
    for (GrowingPrepared* each : {&foreseen, &surprised}) {
      for (int round = 0; round < rounds; ++round) {
        each->steps(2);
        each->step_of(kShorter);
      }
    }
  };
  both(5);
  REQUIRE(foreseen.steps_in(Lane::kEager) == 6);  // warm-up, recording and check of two sizes
  CHECK(room.names_in("entries").size() == 1);
  foreseen.prepare({germinates("r0c0", "mlp")});
  CHECK(foreseen.count_events("tolaria.growth_prepared") == 1);
  for (GrowingPrepared* each : {&foreseen, &surprised}) grow(*each);
  both(2);
  for (GrowingPrepared* each : {&foreseen, &surprised}) {
    CHECK(each->steps_in(Lane::kEager) == 6);
    CHECK(each->count_events("tolaria.lane_refused") == 0);
  }
  CHECK(room.names_in("entries").size() == 2);
  CHECK(first_difference(copies_of(*foreseen.model), copies_of(*surprised.model)) == "");
}

TEST_CASE("a package that is compiled ahead and finished after the dry run passes and runs the first step") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  room.stock(host_program());
  GrowingPrepared ahead(Lane::kCompiled, &room.compile_service(), small_growing());
  ahead.steps(5);
  REQUIRE(ahead.steps_in(Lane::kCompiled) > 0);
  const std::vector<lanes::LikelyChange> likely = {germinates("r0c0", "mlp")};
  const auto end = std::chrono::steady_clock::now() + test::kLongPatience;
  while (ahead.count_events("tolaria.growth_prepared") < 2 && std::chrono::steady_clock::now() < end) {
    ahead.runner->structure_changes().prepare(likely, 100'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(ahead.count_events("tolaria.growth_prepared") == 2);  // replay first, then the package
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 0);
  CHECK(ahead.runner->figures().quarantined == 0);
  const auto started = ahead.count_events("tolaria.compile_started");
  const auto eager_steps = ahead.steps_in(Lane::kEager), compiled_steps = ahead.steps_in(Lane::kCompiled);
  grow(ahead);
  ahead.steps(4);
  CHECK(ahead.count_events("tolaria.compile_started") == started);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
  CHECK(ahead.steps_in(Lane::kCompiled) == compiled_steps + 4);
}

TEST_CASE("a wrong program of a likely structure is rejected in the dry run, and never runs a step") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  auto& compile_service = room.compile_service();
  const LaneCase c = small_growing();
  GrowingModel grown(c);
  grown.apply(grown.germination("r0c0", "mlp"));
  const auto program = program_of(*grown.model, make_batches(c, 1));
  std::string text = program::python_text(program);
  const std::string momentum = "alpha=0.90000000000000002";
  const auto at = text.find(momentum);
  REQUIRE(at != std::string::npos);
  text.replace(at, momentum.size(), "alpha=0.8");
  const std::string recipe = compile_service.recipes(program).front(), key = compile_service.key(program, recipe);
  plant(room, key, compile_text(room, text, recipe));

  GrowingPrepared ahead(Lane::kAuto, &compile_service, c);
  ahead.steps(3);
  ahead.prepare({germinates("r0c0", "mlp")});
  CHECK(ahead.count_events("tolaria.lane_refused") == 1);
  CHECK(ahead.runner->figures().quarantined == 1);
  CHECK(compile_service.cache().quarantine_reason(key, program::EntryFault::kWrong));
  grow(ahead);
  ahead.steps(6);
  CHECK(ahead.steps_in(Lane::kCompiled) == 0);
}

}  // namespace esper::test::ahead_lanes_test
