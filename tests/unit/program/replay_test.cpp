#include "program/replay/replay.h"

#include <torch/types.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <random>

#include "device/alignment.h"
#include "program/replay/memory_plan.h"
#include "support/call_counter.h"
#include "unit/program/steps.h"

namespace esper::test::replay_test {

using namespace esper::program;
using namespace esper::tests;

namespace {

std::size_t resident_bytes() {
  std::size_t mapped = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a replay does to the state what the step does, to the bit") {
  TinyStep eager, replayed;
  const Program program = recording_of(replayed);
  eager.run();
  const auto inputs = replayed.inputs();
  Replay replay(program, inputs, {});
  for (int i = 0; i < 20; ++i) {
    eager.run();
    replay.run();
    REQUIRE(at::equal(eager.parameters, replayed.parameters));
    REQUIRE(at::equal(eager.momentum, replayed.momentum));
  }
}

TEST_CASE("a replay calls fewer operators than the step: views are settled once") {
  TinyStep eager, replayed;
  const Program program = recording_of(replayed);
  Replay replay(program, replayed.inputs(), {});
  const auto calls_of = [](const auto& step) {
    const esper::test::CallCounter counter;
    step();
    return esper::test::CallCounter::calls();
  };
  const int replay_calls = calls_of([&] { replay.run(); });
  CHECK(replay_calls > 0);
  CHECK(replay_calls < calls_of([&] { eager.run(); }));
}

TEST_CASE("a moving input is read where it was put last") {
  TinyStep eager, replayed;
  const Program program = recording_of(replayed);
  eager.run();
  const std::size_t moving[] = {2, 3};
  Replay replay(program, replayed.inputs(), moving);
  for (int i = 0; i < 5; ++i) {
    eager.inputs_ = at::randn({4, 16});
    eager.targets = at::randint(4, {4}, at::kLong);
    replay.rebind(2, eager.inputs_);
    replay.rebind(3, eager.targets);
    eager.run();
    replay.run();
    REQUIRE(at::equal(eager.parameters, replayed.parameters));
  }
}

TEST_CASE("random operators draw from the default generator, as in the step") {
  const at::Tensor eager = at::zeros({100}), replayed = at::zeros({100});
  const auto step = [](const at::Tensor& state) { state.add_(at::dropout(at::ones({100}), 0.3, true)); };
  const std::vector<ExternalTensor> external_tensors = {{"state", replayed}};
  at::manual_seed(11);
  const Program program = record(external_tensors, [&] { step(replayed); }).value();
  Replay replay(program, std::vector<at::Tensor>{replayed}, {});
  replay.run();
  at::manual_seed(11);
  step(eager);
  step(eager);
  CHECK(at::equal(eager, replayed));
}

TEST_CASE("lists of views keep what they look into") {
  const at::Tensor state = at::arange(12, at::kFloat).reshape({3, 4}), expected = state.clone();
  const auto step = [](const at::Tensor& x) {
    const auto parts = at::split(x.mul(2), 1, 0);
    const at::Tensor noise = x.mul(3).add(1);  // would take the place of what the parts look into
    x.copy_(at::cat({parts[2], parts[0], parts[1]}).add(noise.mul(0)));
  };
  const std::vector<ExternalTensor> external_tensors = {{"state", state}};
  const Program program = record(external_tensors, [&] { step(state); }).value();
  Replay replay(program, std::vector<at::Tensor>{state}, {});
  replay.run();
  step(expected);
  step(expected);
  CHECK(at::equal(state, expected));
}

TEST_CASE("memory that is needed at the same time never overlaps, and places are shared otherwise") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    const std::int64_t alignment = round < 200 ? kHostAlignment : device::kCudaAlignment;
    std::vector<Piece> pieces;
    std::int64_t sum = 0;
    for (int i = 0; i < 40; ++i) {
      const auto first = static_cast<std::int32_t>(random() % 60);
      pieces.push_back(
          {static_cast<std::int64_t>(random() % 5000), first, first + static_cast<std::int32_t>(random() % 8), 0});
      sum += pieces.back().bytes + alignment;
    }
    const std::int64_t size = place(pieces, alignment);
    CHECK(size < sum);
    for (const Piece& a : pieces) {
      CHECK(a.offset % alignment == 0);
      CHECK(a.offset + a.bytes <= size);
      for (const Piece& b : pieces) {
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        const bool at_other_times = a.last < b.first || b.last < a.first;
        const bool fine = &a == &b || apart || at_other_times || a.bytes == 0 || b.bytes == 0;
        REQUIRE(fine);
      }
    }
  }
}

TEST_CASE("intermediates that are given back are no longer in memory, and the next run has eager's bits") {
  // Each of the two intermediate values takes 32 MiB.
  constexpr std::int64_t kElements = 8 << 20;
  constexpr std::size_t kBytes = kElements * sizeof(float);
  at::Tensor state = at::randn({kElements}), expected = state.clone();
  const auto step = [](at::Tensor& values) { values.add_(at::mul(at::sin(values), 0.5)); };
  const Program program = record(std::vector<ExternalTensor>{{"state", state}}, [&] { step(state); }).value();
  step(expected);
  Replay replay(program, std::vector<at::Tensor>{state}, {});
  replay.run();
  step(expected);
  const std::size_t before = resident_bytes();
  replay.release_intermediates();
  CHECK(resident_bytes() + kBytes / 2 < before);
  replay.run();
  step(expected);
  CHECK(at::equal(state, expected));
}

}  // namespace esper::test::replay_test
