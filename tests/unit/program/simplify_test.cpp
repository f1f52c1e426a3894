#include "program/simplify.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::program::simplify_test {
namespace {

using Ids = std::vector<ValueId>;

// A program over these inputs and so many further values; value n has n + 1 elements, so that each is known again.
Program with(const std::vector<std::string>& inputs, std::int64_t further) {
  Program program;
  for (const auto& name : inputs) program.inputs.push_back({name});
  for (std::int64_t i = 0; i < std::ssize(inputs) + further; ++i) {
    program.values.push_back({.sizes = {i + 1}, .strides = {1}});
  }
  return program;
}

Operation calls(const std::string& name, const std::vector<Argument>& arguments, const Ids& results) {
  Operation operation{name, arguments, {}};
  for (const ValueId id : results) operation.results.emplace_back(TensorArgument{id});
  return operation;
}

Operation doubles(ValueId from, ValueId to) { return calls("aten::mul.Scalar", {TensorArgument{from}, 2.0}, {to}); }
Operation adds(ValueId to, ValueId what) {
  return calls("aten::add_.Tensor", {TensorArgument{to}, TensorArgument{what}, std::int64_t{1}}, {to});
}

// The number of elements of each value, which tells which one it was.
std::vector<std::int64_t> sizes_of(const Program& program) {
  std::vector<std::int64_t> sizes;
  for (const auto& value : program.values) sizes.push_back(value.sizes.front());
  return sizes;
}

}  // namespace

TEST_CASE("calls whose results nothing uses go, with what only they used, and the others keep their tensors") {
  Program program = with({"state", "unused", "batch"}, 3);
  program.operations = {doubles(2, 3), doubles(3, 4), doubles(2, 5), adds(0, 5)};
  const Program simple = simplify(program);
  REQUIRE(simple.inputs.size() == 2);
  CHECK(simple.inputs[0].name == "state");
  CHECK(simple.inputs[1].name == "batch");
  CHECK(sizes_of(simple) == std::vector<std::int64_t>{1, 3, 6});
  CHECK((simple.operations == std::vector<Operation>{doubles(1, 2), adds(0, 2)}));
  CHECK(simplify(simple) == simple);
}

TEST_CASE("a call that writes, or that draws random numbers, stays though nothing uses its result") {
  Program program = with({"a", "b"}, 3);
  const auto draws = [](ValueId from, ValueId to) {
    return calls("aten::bernoulli", {TensorArgument{from}, std::monostate()}, {to});
  };
  program.operations = {doubles(0, 2), adds(2, 0), draws(1, 3), doubles(1, 4)};
  const Program simple = simplify(program);
  CHECK((simple.operations == std::vector<Operation>{doubles(0, 2), adds(2, 0), draws(1, 3)}));
  CHECK(simple.inputs.size() == 2);
}

TEST_CASE("a call of which one result is used keeps all of its results, and lists keep their tensors in order") {
  Program program = with({"state", "batch"}, 5);
  const auto norm = [](ValueId from, const Ids& results) {
    return calls("aten::native_layer_norm",
                 {TensorArgument{from}, std::vector<std::int64_t>{2}, TensorArgument{}, TensorArgument{}, 1e-5},
                 results);
  };
  const auto joins = [](const Ids& from, ValueId to) {
    return calls("aten::cat", {TensorListArgument{from}, std::int64_t{0}}, {to});
  };
  program.operations = {doubles(1, 2), norm(1, {3, 4, 5}), joins({4, 1}, 6), adds(0, 6)};
  const Program simple = simplify(program);
  CHECK(sizes_of(simple) == std::vector<std::int64_t>{1, 2, 4, 5, 6, 7});
  CHECK((simple.operations == std::vector<Operation>{norm(1, {2, 3, 4}), joins({3, 1}, 5), adds(0, 5)}));
}

TEST_CASE("an operator that this torch does not have is not judged, and stays") {
  Program program = with({"a"}, 1);
  program.operations = {calls("other::unknown", {TensorArgument{0}}, {1})};
  CHECK(simplify(program) == program);
}

}  // namespace esper::program::simplify_test
