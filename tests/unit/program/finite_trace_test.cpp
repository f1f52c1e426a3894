#include "program/finite_trace.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>

#include "program/call_watch.h"
#include "unit/program/steps.h"

namespace esper::test::finite_trace_test {

using namespace esper::program;
using namespace esper::tests;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<BadCall> way_of(std::vector<ExternalTensor> named, const std::function<at::Tensor()>& step) {
  FiniteTrace trace(std::move(named));
  at::Tensor result;
  {
    const CallWatch watch(hooks_of(trace));
    result = step();
  }
  return trace.way_to(result);
}

std::vector<std::string> operations_of(const std::vector<BadCall>& way) {
  std::vector<std::string> names;
  for (const auto& call : way) names.push_back(call.operation);
  return names;
}

}  // namespace

TEST_CASE("the way to a result begins with the call whose inputs were finite") {
  const at::Tensor x = at::full({2, 3}, 100.0), y = at::full({2, 3}, 2.0);
  const auto way = way_of({{"x", x}, {"y", y}}, [&] { return at::sub(at::mul(at::exp(x), y), 1).sum(); });
  CHECK((operations_of(way) == std::vector<std::string>{"aten::exp", "aten::mul", "aten::sub", "aten::sum"}));
  const BadCall& first = way.at(0);
  CHECK(first.number == 1);
  CHECK(first.bad_input.empty());
  REQUIRE(first.inputs.size() == 1);
  CHECK(first.inputs[0].name == "x");
  CHECK(first.inputs[0].min == 100);
  CHECK(first.inputs[0].shape == std::vector<std::int64_t>{2, 3});
  REQUIRE(first.outputs.size() == 1);
  CHECK(first.outputs[0].infinities == 6);
  CHECK(way[1].inputs.at(0).name == "result of aten::exp");
}

TEST_CASE("an input that was not finite before the step is named") {
  TinyStep step;
  step.inputs_[1][3] = kNan;
  const auto way = way_of(step.external_tensors(), [&] {
    step.run();
    return step.parameters;
  });
  REQUIRE_FALSE(way.empty());
  CHECK(way[0].operation == "aten::addmm");
  CHECK(way[0].bad_input == "inputs");
  CHECK(way.back().operation == "aten::addcmul_");
  CHECK(way.back().bad_input.empty());
}

TEST_CASE("a gradient that is not finite is found in the backward pass of a finite loss") {
  at::Tensor x = at::zeros({3}).requires_grad_();
  const auto way = way_of({{"x", x}}, [&] {
    const at::Tensor loss = at::mul(at::sqrt(x), 0).sum();
    return torch::autograd::grad({loss}, {x})[0];
  });
  REQUIRE_FALSE(way.empty());
  CHECK(way[0].bad_input.empty());
  CHECK(way[0].operation == "aten::div");
}

TEST_CASE("a result that is finite has no way to it, whatever infinities a mask holds on purpose") {
  const at::Tensor scores = at::zeros({2, 2}), hidden = at::eye(2).to(at::kBool);
  const auto masked = [&] { return at::masked_fill(scores, hidden, -kInf); };
  CHECK(way_of({}, [&] { return at::softmax(masked(), -1); }).empty());
  // A NaN is followed rather than the mask.
  const at::Tensor x = at::full({2, 2}, kNan);
  const auto way = way_of({{"x", x}}, [&] {
    const at::Tensor mask = masked();
    return at::add(at::mul(x, 2), mask);
  });
  CHECK((operations_of(way) == std::vector<std::string>{"aten::mul", "aten::add"}));
  CHECK(way[0].bad_input == "x");
}

TEST_CASE("what a call writes into without reading it is no input") {
  const at::Tensor scratch = at::full({2}, kNan), x = at::full({2}, 1000.0);
  const auto way = way_of({{"scratch", scratch}, {"x", x}}, [&] {
    at::Tensor out = scratch;
    at::exp_out(out, x);
    return out;
  });
  REQUIRE(way.size() == 1);
  CHECK(way[0].bad_input.empty());
  CHECK(way[0].outputs.at(0).name == "scratch");
  CHECK(way_of({}, [&] { return scratch.copy_(at::zeros({2})); }).empty());
}

TEST_CASE("tracing changes nothing of a step") {
  TinyStep traced, plain;
  CHECK(way_of(traced.external_tensors(), [&] {
          traced.run();
          return traced.parameters;
        }).empty());
  plain.run();
  CHECK(at::equal(traced.parameters, plain.parameters));
}

TEST_CASE("a tensor's range counts what is not finite and spans the rest") {
  const TensorRange range = range_of(at::tensor({1.0F, kNan, -kInf, 4.0F}).to(at::kBFloat16));
  CHECK(range.nans == 1);
  CHECK(range.infinities == 1);
  CHECK(range.min == 1);
  CHECK(range.max == 4);
  CHECK(range.dtype == "BFloat16");
  CHECK(range_of(at::empty({0})).is_finite());
  CHECK(range_of(at::tensor({3, 5}, at::kLong)).max == 5);
}

}  // namespace esper::test::finite_trace_test
