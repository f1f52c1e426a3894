#include "program/program.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "program/python_text.h"
#include "unit/program/steps.h"

namespace esper::test::program_test {

using namespace esper::program;
using namespace esper::tests;

TEST_CASE("a program's text tells programs apart") {
  TinyStep step;
  const Program program = recording_of(step);
  CHECK(save_program(program) == save_program(recording_of(step)));
  Program other = program;
  other.operations.back().arguments.back() = -2.0;
  CHECK(save_program(other) != save_program(program));
}

TEST_CASE("a program is printed one line an operation") {
  TinyStep step;
  const std::string text = to_text(recording_of(step));
  CHECK(text.starts_with("%0 inout Float[68] parameters\n"));
  CHECK(text.find("%3 in Long[4] targets\n") != std::string::npos);
  CHECK(text.ends_with("%0 = aten::addcmul_(%0, %1, %4, -1)\n"));
}

TEST_CASE("equal steps give equal programs") {
  TinyStep a, b;
  CHECK((recording_of(a) == recording_of(b)));
}

TEST_CASE("a program's text tells numbers apart by their bits and their type") {
  Program program;
  program.inputs = {{"x", Access::kWritten}};
  program.values = {{c10::ScalarType::Float, c10::DeviceType::CPU, {2}, {1}}};
  std::set<std::string> texts;
  for (const Argument& value : {Argument(std::int64_t{1}), Argument(1.0), Argument(0.1),
                                Argument(std::nextafter(0.1, 1)), Argument(HUGE_VAL), Argument(-HUGE_VAL)}) {
    program.operations = {{"aten::mul_.Scalar", {TensorArgument{0}, value}, {TensorArgument{0}}}};
    CHECK(texts.insert(save_program(program)).second);
  }
}

TEST_CASE("what cannot be run is told") {
  TinyStep step;
  const Program good = recording_of(step);
  Program bad = good;
  bad.operations[0].name = "aten::no_such_operator";
  CHECK(verify(bad).error() == "aten::no_such_operator: this torch has no such operator");
  bad = good;
  bad.operations.erase(bad.operations.begin());
  CHECK(verify(bad).error().find("before it is defined") != std::string::npos);
  bad = good;
  bad.operations.back().arguments.pop_back();
  CHECK(verify(bad).error().find("another number of arguments") != std::string::npos);
  bad = good;
  bad.operations.back().arguments[0] = std::string("text");
  CHECK(verify(bad).error().find("is no Tensor") != std::string::npos);
  bad = good;
  bad.operations[0].arguments[0] = TensorArgument{1'000'000};
  CHECK_FALSE(verify(bad));
  bad = good;
  bad.values[0].strides.pop_back();
  CHECK_FALSE(verify(bad));
}

TEST_CASE("the Python of a program names every input and returns a tensor") {
  TinyStep step;
  const std::string text = python_text(recording_of(step));
  CHECK(text.find("((4,16,), (16,1,), torch.float32, 'cpu'),  # inputs") != std::string::npos);
  CHECK(text.find("torch.ops.aten.addcmul_.default(a0, a1, a4, value=-1)") != std::string::npos);
  CHECK(text.find("    return (t") != std::string::npos);
}

TEST_CASE("a kernel size that C++ gives once is written for every dimension") {
  const at::Tensor images = at::ones({1, 1, 4, 4}), out = at::zeros({1, 1, 2, 2});
  const std::vector<ExternalTensor> external_tensors = {{"images", images}, {"out", out}};
  const Program program = record(external_tensors, [&] { out.add_(at::max_pool2d(images, 2)); }).value();
  CHECK(python_text(program).find("max_pool2d_with_indices.default(a0, [2,2,], [], [0,0,]") != std::string::npos);
}

TEST_CASE("the Python of a program names the kind of a device, not which of them it is") {
  const at::Tensor out = at::zeros({2});
  const std::vector<ExternalTensor> external_tensors = {{"out", out}};
  Program program = record(external_tensors, [&] { out.add_(at::full({2}, 3.0)); }).value();
  REQUIRE(program.operations[0].name == "aten::full");
  program.operations[0].arguments[4] = DeviceArgument{"cuda:1"};
  const std::string text = python_text(program);
  INFO(text);
  CHECK(text.find("device='cuda'") != std::string::npos);
}

}  // namespace esper::test::program_test
