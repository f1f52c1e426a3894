#include "program/recorder.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "program/replay/replay.h"
#include "unit/program/steps.h"

namespace esper::test::recorder_test {

using namespace esper::program;
using namespace esper::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

std::string refusal(std::span<const ExternalTensor> external_tensors, const std::function<void()>& step) {
  const auto result = record(external_tensors, step);
  REQUIRE_FALSE(result);
  return result.error();
}

bool contains(const Program& program, const std::string& name) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) { return operation.name == name; });
}

}  // namespace

TEST_CASE("a recording is forward, backward and optimizer as plain operators, and changes nothing") {
  TinyStep recorded, plain;
  const Program program = recording_of(recorded);
  plain.run();
  CHECK(at::equal(plain.parameters, recorded.parameters));
  CHECK(contains(program, "aten::addmm"));
  CHECK(contains(program, "aten::nll_loss_backward"));
  CHECK(contains(program, "aten::addcmul_"));
  CHECK(verify(program));
}

TEST_CASE("inputs are the roots that the step touches, and those that it writes are known") {
  TinyStep step;
  auto external_tensors = step.external_tensors();
  external_tensors.push_back({"untouched", at::zeros({3})});
  const Program program = record(external_tensors, [&] { step.run(); }).value();
  REQUIRE(program.inputs.size() == 5);
  const std::vector<Input> expected = {{"parameters", Access::kWritten},
                                       {"momentum", Access::kWritten},
                                       {"inputs", Access::kRead},
                                       {"targets", Access::kRead},
                                       {"lr", Access::kRead}};
  CHECK((program.inputs == expected));
}

TEST_CASE("a tensor from nowhere is an error that names the operator") {
  TinyStep step;
  const at::Tensor stranger = at::randn({4});
  CHECK_THAT(refusal(step.external_tensors(), [&] { at::mul(step.lr, stranger); }),
             StartsWith("aten::mul.Tensor uses a tensor of shape [4]"));
}

TEST_CASE("a read by the host is an error") {
  TinyStep step;
  CHECK_THAT(refusal(step.external_tensors(), [&] { step.lr.item<float>(); }), ContainsSubstring("reads the device"));
}

TEST_CASE("a generator of the step's own is an error, since a program holds none") {
  TinyStep step;
  const at::Generator generator = at::detail::createCPUGenerator(1);
  CHECK_THAT(refusal(step.external_tensors(), [&] { step.momentum.bernoulli_(0.5, generator); }),
             ContainsSubstring("aten::bernoulli_.float"));
}

TEST_CASE("after a refusal the next recording is a good one") {
  TinyStep step;
  refusal(step.external_tensors(), [&] { step.lr.item<float>(); });
  CHECK(record(step.external_tensors(), [&] { step.run(); }));
}

TEST_CASE("what a step throws passes through, and listening ends") {
  TinyStep step;
  CHECK_THROWS_AS(record(step.external_tensors(), [] { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(record(step.external_tensors(), [&] { step.run(); }));
}

TEST_CASE("scratch is the program's own: it is no input") {
  const at::Tensor state = at::ones({4}), scratch = at::zeros({8});
  const at::Tensor half = scratch.narrow(0, 4, 4);
  const std::vector<ExternalTensor> external_tensors = {{"state", state},
                                                        {"scratch", scratch, ExternalTensor::Role::kScratch}};
  const auto step = [&] {
    half.copy_(state);
    state.add_(half);
  };
  const Program program = record(external_tensors, step).value();
  REQUIRE(program.inputs.size() == 1);
  CHECK(contains(program, "aten::empty_strided"));
  Replay replay(program, std::vector<at::Tensor>{state}, {});
  scratch.fill_(77);
  replay.run();
  CHECK(at::equal(state, at::full({4}, 4.0)));
  CHECK(at::equal(scratch, at::full({8}, 77.0)));
}

TEST_CASE("an operator that hides that it returns a view is recorded as the view it is") {
  const at::Tensor state = at::ones({6});
  const std::vector<ExternalTensor> external_tensors = {{"state", state}};
  const Program program = record(external_tensors, [&] { at::_unsafe_view(state, {2, 3}).add_(1); }).value();
  CHECK(contains(program, "aten::view"));
  CHECK(program.inputs.front().access == Access::kWritten);
}

TEST_CASE("an operator that changes a tensor's layout in place is recorded as the view that it makes") {
  const at::Tensor eager = at::arange(6, at::kFloat).view({2, 3}), replayed = eager.clone();
  const auto step = [](const at::Tensor& state) {
    at::Tensor turned = state.mul(2);
    turned.transpose_(0, 1).unsqueeze_(0).add_(1);
    state.copy_(turned.squeeze_(0).mul(turned).reshape({2, 3}));
  };
  const Program program = record(std::vector<ExternalTensor>{{"state", replayed}}, [&] { step(replayed); }).value();
  CHECK(contains(program, "aten::transpose.int"));
  step(eager);
  Replay replay(program, std::vector<at::Tensor>{replayed}, {});
  for (int i = 0; i < 3; ++i) {
    step(eager);
    replay.run();
    CHECK(at::equal(eager, replayed));
  }
}

TEST_CASE("a step that changes the layout of its input, or an intermediate's memory, is refused") {
  const at::Tensor state = at::ones({2, 3});
  const std::vector<ExternalTensor> external_tensors = {{"state", state}};
  CHECK_THAT(refusal(external_tensors, [&] { at::Tensor(state).t_(); }),
             ContainsSubstring("aten::t_ changes the layout of a tensor in place"));
  CHECK_THAT(refusal(external_tensors, [&] { state.mul(2).set_(); }), ContainsSubstring("aten::set_"));
}

TEST_CASE("the statistics that batch norm moves are written, and those that it only takes are not") {
  const bool training = GENERATE(true, false);
  const at::Tensor state = at::randn({4, 3}), mean = at::zeros({3}), variance = at::ones({3});
  const std::vector<ExternalTensor> external_tensors = {{"state", state}, {"mean", mean}, {"variance", variance}};
  const auto step = [&] { state.copy_(at::batch_norm(state, {}, {}, mean, variance, training, 0.1, 1e-5, true)); };
  const Program program = record(external_tensors, step).value();
  const Access statistic = training ? Access::kWritten : Access::kRead;
  const std::vector<Input> expected = {{"state", Access::kWritten}, {"mean", statistic}, {"variance", statistic}};
  CHECK((program.inputs == expected));
}

TEST_CASE("what nobody needs is left out, but not what draws random numbers") {
  const at::Tensor state = at::ones({6});
  const std::vector<ExternalTensor> external_tensors = {{"state", state}};
  const Program program = record(external_tensors, [&] {
                            at::exp(state);
                            at::rand_like(state);
                            state.add_(1);
                          }).value();
  CHECK_FALSE(contains(program, "aten::exp"));
  CHECK(contains(program, "aten::rand_like"));
}

}  // namespace esper::test::recorder_test
