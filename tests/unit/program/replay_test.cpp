#include "program/replay/replay.h"

#include <torch/types.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
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
  using Split = std::vector<at::Tensor> (*)(const at::Tensor&);
  const Split split = GENERATE(Split{[](const at::Tensor& x) { return at::split(x, 1, 0); }},
                               Split{[](const at::Tensor& x) { return at::unsafe_split(x, 1, 0); }},
                               Split{[](const at::Tensor& x) { return at::unsafe_split_with_sizes(x, {1, 1, 1}, 0); }});
  const at::Tensor state = at::arange(12, at::kFloat).reshape({3, 4}), expected = state.clone();
  const auto step = [split](const at::Tensor& x) {
    const auto parts = split(x.mul(2));
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

TEST_CASE("a recurrent network's step is replayed with eager's bits") {
  constexpr std::int64_t kInputs = 3, kHidden = 5, kGates = 3 * kHidden;
  const bool batch_first = GENERATE(false, true);
  at::manual_seed(3);
  const at::Tensor x = at::randn({4, 4, kInputs}), hidden = at::zeros({1, 4, kHidden});
  const std::vector<at::Tensor> start = {at::randn({kGates, kInputs}), at::randn({kGates, kHidden}),
                                         at::randn({kGates}), at::randn({kGates})};
  const auto weights_of = [&] {
    std::vector<at::Tensor> weights;
    for (const at::Tensor& weight : start) weights.push_back(weight.clone().requires_grad_());
    return weights;
  };
  const auto step = [&](const std::vector<at::Tensor>& weights) {
    const at::Tensor out = std::get<0>(at::gru(x, hidden, weights, true, 1, 0.0, true, false, batch_first));
    const auto gradients = torch::autograd::grad({out.select(batch_first ? 1 : 0, 3).square().sum()}, weights);
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < weights.size(); ++i) at::Tensor(weights[i]).sub_(gradients[i], 0.01);
  };
  const auto eager = weights_of(), replayed = weights_of();
  std::vector<ExternalTensor> external_tensors = {{"x", x}, {"hidden", hidden}};
  for (std::size_t i = 0; i < replayed.size(); ++i) external_tensors.push_back({std::to_string(i), replayed[i]});
  const Program program = record(external_tensors, [&] { step(replayed); }).value();
  step(eager);
  std::vector<at::Tensor> inputs;
  for (const Input& input : program.inputs) {
    const auto external = std::ranges::find(external_tensors, input.name, &ExternalTensor::name);
    inputs.push_back(external->tensor.detach());
  }
  Replay replay(program, inputs, {});
  for (int i = 0; i < 3; ++i) {
    step(eager);
    replay.run();
    for (std::size_t k = 0; k < eager.size(); ++k) CHECK(at::equal(eager[k], replayed[k]));
  }
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
