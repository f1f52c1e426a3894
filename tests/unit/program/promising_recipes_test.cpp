#include "program/promising_recipes.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::program::promising_recipes_test {
namespace {

using c10::ScalarType;
using Names = std::vector<std::string>;

// One layer, aten::addmm of a bias, [rows, inner] and [inner, columns]; and calls that only their names matter of.
Program layer(std::int64_t rows, std::int64_t inner, std::int64_t columns, ScalarType dtype, const Names& calls = {}) {
  Program program;
  for (const auto& sizes :
       {std::vector{columns}, std::vector{rows, inner}, std::vector{inner, columns}, std::vector{rows, columns}}) {
    program.values.push_back({.dtype = dtype, .sizes = sizes, .strides = {}});
  }
  program.operations.push_back(
      {"aten::addmm", {TensorArgument{0}, TensorArgument{1}, TensorArgument{2}}, {TensorArgument{3}}});
  for (const auto& name : calls) program.operations.push_back({name, {}, {}});
  return program;
}

Names on_cpu(const Program& program, const std::string& instructions = "avx512f") {
  return promising_recipes(program, "cpu", instructions);
}

}  // namespace

TEST_CASE("a layer's size decides whether its product is a loop, is turned, or neither") {
  CHECK(on_cpu(layer(16, 16, 16, ScalarType::Float)) == Names{"loops", "default"});
  CHECK(on_cpu(layer(16, 16, 17, ScalarType::Float)) == Names{"default"});
  CHECK(on_cpu(layer(1024, 64, 63, ScalarType::Float)) == Names{"default"});
  CHECK(on_cpu(layer(1024, 64, 64, ScalarType::Float)) == Names{"turned", "default"});
  CHECK(on_cpu(layer(1024, 64, 64, ScalarType::Float, {"aten::native_layer_norm"})) == Names{"default"});
  CHECK(on_cpu({}) == Names{"default"});
}

TEST_CASE("products in bf16 are computed in single precision where the processor has no tiles for them") {
  const auto small = layer(32, 32, 32, ScalarType::BFloat16), wide = layer(1024, 64, 64, ScalarType::BFloat16);
  const auto product = [](Program program) {
    auto& operation = program.operations.front();
    operation = {"aten::mm", {operation.arguments[1], operation.arguments[2]}, operation.results};
    return program;
  };
  for (const auto& program : {small, wide, product(wide)}) {
    CHECK(on_cpu(program, "avx512f amx_bf16") == Names{"default"});
  }
  CHECK(on_cpu(small) == Names{"single", "default"});
  CHECK(on_cpu(wide) == Names{"single_turned", "single"});
  CHECK(on_cpu(product(wide)) == Names{"single", "default"});  // what is turned is a layer
}

TEST_CASE("pooling decides before products do, and on a card there is one recipe") {
  const auto pooling = layer(16, 16, 16, ScalarType::Float, {"aten::max_pool2d_with_indices_backward"});
  CHECK(on_cpu(pooling) == Names{"aten_pool"});
  for (const auto& program : {pooling, layer(1024, 64, 64, ScalarType::Float)}) {
    CHECK(promising_recipes(program, "cuda NVIDIA H100", "avx512f") == Names{"default"});
  }
}

}  // namespace esper::program::promising_recipes_test
