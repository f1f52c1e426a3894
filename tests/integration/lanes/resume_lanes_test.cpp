// A run that was compiled on the way and goes on from an earlier step.

#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <filesystem>
#include <span>

#include "integration/lanes/lane_room.h"
#include "lanes/shape/step_comparison.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"

namespace esper::test::resume_lanes_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

constexpr std::int64_t kLastStep = 160;  // the trial of the compiled program ends at about step 123
constexpr std::int64_t kManyLeft = 1'000'000;

using Values = std::vector<torch::Tensor>;

Values values_of(const step::Model& model) {
  Values values;
  for (const auto& named : step::named_tensors(model.state)) values.push_back(named.tensor.detach().clone());
  return values;
}

// What compiles a run's programs, and the lanes that it has.
struct Compiling {
  program::CompileService& service = persistent_compile_service();
  std::span<const lanes::LaneKind> kinds = lanes::lane_kinds();
  std::int64_t warmup_steps = 1;
};

torch::Tensor bad_inputs;

// A compiled program that makes NaN of bad_inputs.
lanes::ExpectedLane make_spoiling_lane(const lanes::LaneRequest& request) {
  auto made = lanes::make_compiled_lane(request);
  if (!made) return made;
  const auto right = std::make_shared<lanes::Lane>(*std::move(made));
  const auto step = [right, &model = request.model](std::span<const step::Microbatch> microbatches) {
    right->run(microbatches);
    if (!at::equal(microbatches.front().inputs, bad_inputs)) return;
    const torch::NoGradGuard no_grad;
    for (const auto& named : step::named_tensors(model.state)) {
      if (named.tensor.is_floating_point()) named.tensor.detach().fill_(NAN);
    }
  };
  return lanes::Lane(Lane::kCompiled, step, right->loaded());
}

// Steps left in which a compiled program's result is off by a little, or for which it has no memory.
int slight_steps = 0, crowded_steps = 0;

lanes::ExpectedLane make_flawed_lane(const lanes::LaneRequest& request) {
  auto made = lanes::make_compiled_lane(request);
  if (!made) return made;
  const auto right = std::make_shared<lanes::Lane>(*std::move(made));
  const auto step = [right, &model = request.model](std::span<const step::Microbatch> microbatches) {
    if (crowded_steps > 0) {
      --crowded_steps;
      throw c10::OutOfMemoryError({}, "no room");
    }
    const Values before = values_of(model);
    right->run(microbatches);
    if (slight_steps == 0) return;
    --slight_steps;
    const torch::NoGradGuard no_grad;
    const auto named = step::named_tensors(model.state);
    for (std::size_t i = 0; i < named.size(); ++i) {
      const torch::Tensor values = named[i].tensor.detach();
      if (values.is_floating_point()) values.add_(values - before[i], 0.01);
    }
  };
  return lanes::Lane(Lane::kCompiled, step, right->loaded());
}

std::vector<lanes::LaneKind> kinds_with(decltype(lanes::LaneKind::make) make) {
  std::vector<lanes::LaneKind> kinds(lanes::lane_kinds().begin(), lanes::lane_kinds().end());
  for (auto& kind : kinds) {
    if (kind.has_compiler) kind.make = make;
  }
  return kinds;
}

// As if no process had found the program wrong.
void forget_quarantine(const LaneRoom& room, const program::Program& program) {
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(room.cache()) / "quarantine"))
    std::filesystem::remove(entry);
  room.stock(program);
}

bool is_finite(const step::Model& model) {
  return std::ranges::all_of(step::named_tensors(model.state),
                             [](const auto& named) { return named.tensor.isfinite().all().template item<bool>(); });
}

// Runs steps of a model; its changes of bits go into the journal, and it follows those that stand there.
class Journey {
 public:
  Journey(const LaneCase& c, const std::string& journal, Lane lane = Lane::kAuto, const Compiling& compiling = {})
      : case_(c), model_(make_model(c)), journal_(storage::real_file_system(), journal) {
    config::StepConfig config;
    config.lane = lane;
    config.compile.warmup_steps = compiling.warmup_steps;
    lanes::RunnerServices services;
    services.compile_service = &compiling.service;
    services.kinds = compiling.kinds;
    services.emit = [](const leyline::TelemetryEvent&) {};
    services.append_record = [this](const std::string& record) { journal_.append(record); };
    services.log = lanes::read_lane_log(storage::real_file_system(), journal, 0);
    runner_ = std::make_unique<lanes::StepRunner>(*model_, config, torch::kCPU, std::move(services));
  }

  void start_from(const Values& values) {
    const torch::NoGradGuard no_grad;
    const auto named = step::named_tensors(model_->state);
    for (std::size_t i = 0; i < named.size(); ++i) named[i].tensor.detach().copy_(values[i]);
  }

  void run(std::int64_t from, std::int64_t to) {
    for (std::int64_t number = from; number < to; ++number) step(number, case_);
  }
  // A step with a batch of that case's size.
  void step(std::int64_t number, const LaneCase& of_size) {
    runner_->step(make_batches(of_size, 1, static_cast<std::uint64_t>(number)), {number, kManyLeft});
  }

  void compare_at(std::int64_t bad) { runner_->compare_at({bad}); }

  void go_back_to(std::int64_t step, const Values& values, std::int64_t bad) {
    start_from(values);
    compare_at(bad);
    runner_->rolled_back(step);
  }

  const step::Model& model() const { return *model_; }
  bool ran_compiled() const { return runner_->ran_compiled(); }
  std::int64_t compiled_steps() const { return runner_->figures().steps_in(Lane::kCompiled); }

 private:
  LaneCase case_;
  std::unique_ptr<step::Model> model_;
  storage::JournalWriter journal_;
  std::unique_ptr<lanes::StepRunner> runner_;
};

// A run in lane compiled whose program is off by a little in the next slight_steps.
struct FlawedRun {
  FlawedRun() {
    slight_steps = crowded_steps = 0;
    room.stock(program);
  }
  // Killed before that step, it goes on in eager to the end, as it does without the kill.
  void check_stays_in_eager(std::int64_t killed, std::int64_t end) {
    const int left = slight_steps;
    const Values checkpoint = values_of(whole.model());
    std::filesystem::copy(room.path / "journal", room.path / "killed");
    const std::int64_t compiled_steps = whole.compiled_steps();
    whole.run(killed, end);
    CHECK(slight_steps == 0);
    CHECK(whole.compiled_steps() == compiled_steps);

    forget_quarantine(room, program);
    Journey resumed(c, room.path / "killed", Lane::kCompiled, compiling);
    slight_steps = left;
    resumed.start_from(checkpoint);
    resumed.run(killed, end);
    CHECK(resumed.compiled_steps() == 0);
    CHECK(same_bits(whole.model(), resumed.model()));
  }

  const LaneCase c = lane_cases().front();
  const std::vector<lanes::LaneKind> kinds = kinds_with(&make_flawed_lane);
  const program::Program program = program_of(*make_model(c), make_batches(c, 1));
  const LaneRoom room;
  const Compiling compiling{room.compile_service(), kinds};
  Journey whole{c, room.path / "journal", Lane::kCompiled, compiling};
};

}  // namespace

TEST_CASE("a run resumed before, within or after the trial of a compiled program has the bits it would have had") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  LaneRun(c, Lane::kCompiled, &persistent_compile_service()).steps(3, c, 1);  // the program is in the cache from now on

  const std::vector<std::int64_t> stops = {1, 30, 70, 150};
  std::vector<Values> checkpoints;
  const LaneRoom room;
  Journey whole(c, room.path / "journal");
  std::int64_t at = 0;
  for (const std::int64_t stop : stops) {
    whole.run(at, stop);
    checkpoints.push_back(values_of(whole.model()));
    at = stop;
  }
  whole.run(at, kLastStep);
  REQUIRE(whole.compiled_steps() >= 60);

  for (std::size_t i = 0; i < stops.size(); ++i) {
    INFO("resumed at step " << stops[i]);
    {
      Journey killed_again(c, room.path / "journal");
      killed_again.start_from(checkpoints[i]);
      killed_again.run(stops[i], std::min(stops[i] + 45, kLastStep));  // over changes of bits that others follow
    }
    Journey resumed(c, room.path / "journal");
    resumed.start_from(checkpoints[i]);
    resumed.run(stops[i], kLastStep);
    CHECK(same_bits(whole.model(), resumed.model()));
  }
}

TEST_CASE("a run killed in a compiled program's turn of a trial repeats the turn, and then the trial begins again") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  LaneRun(c, Lane::kCompiled, &persistent_compile_service()).steps(3, c, 1);  // the program is in the cache from now on

  constexpr std::int64_t kSaved = 35, kKilled = 40;  // the turn begins at about step 23
  constexpr std::int64_t kTurn = program::Trial::kStepsPerTurn;
  const LaneRoom room;
  Journey killed(c, room.path / "journal");
  killed.run(0, kSaved);
  REQUIRE(killed.compiled_steps() > 0);
  const Values checkpoint = values_of(killed.model());
  killed.run(kSaved, kKilled);

  Journey resumed(c, room.path / "journal");
  resumed.start_from(checkpoint);
  resumed.run(kSaved, kKilled);
  CHECK(same_bits(killed.model(), resumed.model()));
  resumed.run(kKilled, kSaved + 2 * kTurn);
  CHECK(resumed.compiled_steps() == kTurn);
  resumed.run(kSaved + 2 * kTurn, kSaved + 3 * kTurn);
  CHECK(resumed.compiled_steps() > kTurn);
}

TEST_CASE("a run that went back within the process is resumed with the bits of the steps after the return") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  LaneRun(c, Lane::kCompiled, &persistent_compile_service()).steps(3, c, 1);  // the program is in the cache from now on

  constexpr std::int64_t kCopied = 40, kWithinTrial = 90, kAfterTrial = 150;
  for (const std::int64_t bad : {kWithinTrial, kAfterTrial}) {
    INFO("back from step " << bad);
    const LaneRoom room;
    Journey whole(c, room.path / "journal");
    whole.run(0, kCopied);
    const Values copied = values_of(whole.model());
    whole.run(kCopied, bad);
    const std::int64_t compiled_before = whole.compiled_steps();
    REQUIRE(compiled_before > 0);
    whole.go_back_to(kCopied, copied, bad);
    whole.run(kCopied, kLastStep);
    // Whether it is adopted depends on its speed.
    if (bad == kWithinTrial) REQUIRE(whole.compiled_steps() > compiled_before);

    Journey resumed(c, room.path / "journal");
    resumed.compare_at(bad);
    resumed.start_from(copied);
    resumed.run(kCopied, kLastStep);
    CHECK(same_bits(whole.model(), resumed.model()));
  }
}

TEST_CASE("a program that makes NaN of one batch is given up there, and eager's result of the batch is kept") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  constexpr std::int64_t kCopied = 20, kBad = 30, kEnd = 40;
  bad_inputs = make_batches(c, 1, kBad).front().inputs;
  const auto kinds = kinds_with(&make_spoiling_lane);
  const LaneRoom room;
  const auto program = program_of(*make_model(c), make_batches(c, 1));
  room.stock(program);
  Journey spoilt(c, room.path / "journal", Lane::kCompiled, {room.compile_service(), kinds});
  spoilt.run(0, kCopied);
  const Values copied = values_of(spoilt.model());
  spoilt.run(kCopied, kBad + 1);
  CHECK_FALSE(is_finite(spoilt.model()));
  CHECK(spoilt.ran_compiled());
  spoilt.go_back_to(kCopied, copied, kBad);
  spoilt.run(kCopied, kBad + 1);
  CHECK_FALSE(spoilt.ran_compiled());

  Journey right(c, room.path / "right", Lane::kCompiled);
  right.run(0, kCopied);
  right.go_back_to(kCopied, copied, kBad);
  right.run(kCopied, kBad + 1);
  CHECK(same_bits(right.model(), spoilt.model()));

  const std::int64_t compiled_steps = spoilt.compiled_steps();
  spoilt.run(kBad + 1, kEnd);
  CHECK(is_finite(spoilt.model()));
  CHECK(spoilt.compiled_steps() == compiled_steps);
  const std::string key = room.compile_service().key(program, room.compile_service().recipes(program).front());
  CHECK(room.compile_service().cache().quarantine_reason(key, program::EntryFault::kWrong));
}

TEST_CASE("a run killed before a shape's first compiled step gets to its program at the same step, in lane compiled") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  constexpr std::int64_t kBetween = 10, kAfter = 6;  // other shapes may have steps between those of this one
  const std::int64_t warmup_steps = GENERATE(1, 3);
  const std::int64_t steps = warmup_steps + kAfter;
  const Compiling compiling{.warmup_steps = warmup_steps};
  for (std::int64_t killed = 1; killed < steps; ++killed) {
    INFO("killed before step " << killed << " of the shape");
    const LaneRoom room;
    Journey whole(c, room.path / "journal", Lane::kCompiled, compiling);
    for (std::int64_t n = 0; n < killed; ++n) whole.step(n * kBetween, c);
    const Values checkpoint = values_of(whole.model());
    std::filesystem::copy(room.path / "journal", room.path / "killed");
    for (std::int64_t n = killed; n < steps; ++n) whole.step(n * kBetween, c);
    CHECK(whole.compiled_steps() == steps - warmup_steps - 2);  // recording, comparison

    for (const std::int64_t from : {killed - 1, killed}) {
      INFO("resumed from step " << from);
      const std::string journal = room.path / ("resumed-" + std::to_string(from));
      std::filesystem::copy(room.path / "killed", journal);
      Journey resumed(c, journal, Lane::kCompiled, compiling);
      if (from < killed) {
        Journey again(c, room.path / "again", Lane::kCompiled, compiling);
        for (std::int64_t n = 0; n < from; ++n) again.step(n * kBetween, c);
        resumed.start_from(values_of(again.model()));
      } else {
        resumed.start_from(checkpoint);
      }
      for (std::int64_t n = from; n < steps; ++n) resumed.step(n * kBetween, c);
      CHECK(same_bits(whole.model(), resumed.model()));
      std::filesystem::remove(room.path / "again");
    }
  }
}

TEST_CASE("after a bad step the programs of all shapes are compared, each at its first step from there on") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase whole = lane_cases().front();
  LaneCase half = whole;
  half.batch = whole.batch / 2;
  constexpr std::int64_t kCopied = 20, kBad = 30, kEnd = 40;
  const LaneRoom room;
  Journey it(whole, room.path / "journal", Lane::kCompiled);
  const auto step = [&](std::int64_t number) { it.step(number, number % 3 == 1 ? half : whole); };
  for (std::int64_t number = 0; number < kCopied; ++number) step(number);
  const Values copied = values_of(it.model());
  for (std::int64_t number = kCopied; number <= kBad; ++number) step(number);
  it.go_back_to(kCopied, copied, kBad);
  std::vector<std::int64_t> compared;
  for (std::int64_t number = kCopied; number < kEnd; ++number) {
    step(number);
    if (!it.ran_compiled()) compared.push_back(number);
  }
  CHECK(compared == std::vector<std::int64_t>{kBad, kBad + 1});
}

TEST_CASE("a run killed on its way back to a bad step compares its compiled program there, as without the kill") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  constexpr std::int64_t kCopied = 20, kBad = 30, kEnd = 40;
  for (const std::int64_t killed : {std::int64_t{25}, kBad}) {
    INFO("killed at step " << killed);
    const LaneRoom room;
    Journey whole(c, room.path / "journal", Lane::kCompiled);
    whole.run(0, kCopied);
    const Values copied = values_of(whole.model());
    whole.run(kCopied, kBad + 1);
    whole.go_back_to(kCopied, copied, kBad);
    whole.run(kCopied, killed);
    const Values checkpoint = values_of(whole.model());
    for (const char* copy : {"killed", "unaware"}) std::filesystem::copy(room.path / "journal", room.path / copy);
    whole.run(killed, kEnd);

    Journey resumed(c, room.path / "killed", Lane::kCompiled);
    resumed.compare_at(kBad);
    resumed.start_from(checkpoint);
    resumed.run(killed, kEnd);
    CHECK(same_bits(whole.model(), resumed.model()));

    Journey unaware(c, room.path / "unaware", Lane::kCompiled);
    unaware.start_from(checkpoint);
    unaware.run(killed, kEnd);
    CHECK_FALSE(same_bits(whole.model(), unaware.model()));
  }
}

TEST_CASE("a run killed right after a comparison goes on in the compiled program that agreed, as without the kill") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  constexpr std::int64_t kSaved = 20, kCompared = 30, kEnd = 40;
  for (const std::int64_t next : {kCompared + 1, kCompared + 4}) {  // other shapes may have steps before it
    INFO("the next step is " << next);
    const LaneRoom room;
    Journey whole(c, room.path / "journal", Lane::kCompiled);
    whole.run(0, kSaved);
    const Values checkpoint = values_of(whole.model());
    whole.go_back_to(kSaved, checkpoint, kCompared);
    whole.run(kSaved, kCompared);
    CHECK(whole.ran_compiled());
    whole.run(kCompared, kCompared + 1);
    CHECK_FALSE(whole.ran_compiled());
    std::filesystem::copy(room.path / "journal", room.path / "killed");
    whole.run(next, kEnd);
    CHECK(whole.ran_compiled());

    Journey resumed(c, room.path / "killed", Lane::kCompiled);
    resumed.compare_at(kCompared);
    resumed.start_from(checkpoint);
    resumed.run(kSaved, kCompared + 1);
    resumed.run(next, kEnd);
    CHECK(same_bits(whole.model(), resumed.model()));
  }
}

TEST_CASE("small differences in a row are counted on after a kill: the program is rejected at the same step") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  constexpr std::int64_t kFirstCompared = 2, kRejected = kFirstCompared + lanes::kMostNearMisses - 1;
  for (std::int64_t killed = kFirstCompared + 1; killed <= kRejected + 2; ++killed) {
    INFO("killed before step " << killed);
    FlawedRun it;
    slight_steps = lanes::kMostNearMisses;
    it.whole.run(0, killed);
    it.check_stays_in_eager(killed, kRejected + 5);
    CHECK(it.whole.compiled_steps() == 0);
  }
}

TEST_CASE("a run goes on comparing its program after a kill, and rejects it at the step where it would have") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  constexpr std::int64_t kSaved = 20, kCompared = 30, kRejected = kCompared + lanes::kMostNearMisses - 1, kEnd = 45;
  for (const std::int64_t killed : {kCompared + 1, kCompared + 3, kRejected + 1}) {
    INFO("killed before step " << killed);
    FlawedRun it;
    it.whole.run(0, kSaved);
    it.whole.go_back_to(kSaved, values_of(it.whole.model()), kCompared);
    it.whole.run(kSaved, kCompared);
    slight_steps = lanes::kMostNearMisses;
    it.whole.run(kCompared, killed);
    it.check_stays_in_eager(killed, kEnd);
  }
}

TEST_CASE("a comparison that decided nothing before the run went back is repeated, with and without a kill after it") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  LaneCase rare = c;
  rare.batch = c.batch / 2;
  constexpr std::int64_t kSaved = 20, kUndecided = 30, kCopied = 32, kBad = 35, kRare = 34, kEnd = 45;
  const auto run = [&](Journey& journey, std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) journey.step(n, n % 4 == kRare % 4 ? rare : c);
  };
  const auto kinds = kinds_with(&make_flawed_lane);
  const LaneRoom room;
  room.stock(program_of(*make_model(c), make_batches(c, 1)));
  room.stock(program_of(*make_model(rare), make_batches(rare, 1)));
  const Compiling compiling{room.compile_service(), kinds};
  slight_steps = crowded_steps = 0;
  Journey whole(c, room.path / "journal", Lane::kCompiled, compiling);
  run(whole, 0, kSaved);
  whole.go_back_to(kSaved, values_of(whole.model()), kUndecided);
  run(whole, kSaved, kUndecided);
  slight_steps = 1;
  run(whole, kUndecided, kCopied);
  REQUIRE(slight_steps == 0);
  const Values copied = values_of(whole.model());
  run(whole, kCopied, kRare);
  whole.go_back_to(kCopied, copied, kBad);
  run(whole, kCopied, kRare);
  const Values checkpoint = values_of(whole.model());
  std::filesystem::copy(room.path / "journal", room.path / "killed");
  run(whole, kRare, kRare + 1);
  CHECK_FALSE(whole.ran_compiled());
  run(whole, kRare + 1, kEnd);
  CHECK(whole.ran_compiled());

  Journey resumed(c, room.path / "killed", Lane::kCompiled, compiling);
  resumed.compare_at(kBad);
  resumed.start_from(checkpoint);
  run(resumed, kRare, kEnd);
  CHECK(same_bits(whole.model(), resumed.model()));
}

TEST_CASE("a run in lane compiled that had no memory for its program stays in eager after a kill, as without it") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  constexpr std::int64_t kKilled = 5, kEnd = 12;
  const auto kinds = kinds_with(&make_flawed_lane);
  const LaneRoom room;
  room.stock(program_of(*make_model(c), make_batches(c, 1)));
  const Compiling compiling{room.compile_service(), kinds};
  slight_steps = 0;
  crowded_steps = 1;
  Journey whole(c, room.path / "journal", Lane::kCompiled, compiling);
  whole.run(0, kKilled);
  REQUIRE(crowded_steps == 0);
  const Values checkpoint = values_of(whole.model());
  std::filesystem::copy(room.path / "journal", room.path / "killed");
  whole.run(kKilled, kEnd);
  CHECK(whole.compiled_steps() == 0);

  for (const std::int64_t from : {std::int64_t{0}, kKilled}) {
    INFO("resumed from step " << from);
    const std::string journal = room.path / ("resumed-" + std::to_string(from));
    std::filesystem::copy(room.path / "killed", journal);
    Journey resumed(c, journal, Lane::kCompiled, compiling);
    if (from > 0) resumed.start_from(checkpoint);
    resumed.run(from, kEnd);
    CHECK(same_bits(whole.model(), resumed.model()));
  }
}

}  // namespace esper::test::resume_lanes_test
