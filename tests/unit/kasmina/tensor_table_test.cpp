#include "kasmina/tensor/tensor_table.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"
#include "device/rng.h"

namespace esper::kasmina::tensor_table_test {
namespace {

constexpr Init kUniform{Init::Kind::kUniform, 0.5};

torch::Tensor draw(const std::string& prefix, const std::string& name, std::uint64_t run_seed) {
  TensorTable table;
  return ModuleScope(table, prefix, run_seed, torch::kCPU).parameter(name, {4, 5}, kUniform);
}

TEST_CASE("a parameter's start depends on the run's seed and its id alone") {
  TensorTable table;
  ModuleScope scope(table, "host", 7, torch::kCPU);
  scope.parameter("other", {100}, {Init::Kind::kNormal, 1});
  const torch::Tensor later = scope.parameter("weight", {4, 5}, kUniform);
  CHECK(later.equal(draw("host", "weight", 7)));
  CHECK_FALSE(later.equal(draw("host", "weight", 8)));
  CHECK_FALSE(later.equal(draw("host", "weighs", 7)));
}

TEST_CASE("initial values never change between versions") {
  const at::Generator generator = device::make_generator(0x94953608117d2d0dULL);
  CHECK(draw("host.head", "weight", 1337).equal(torch::Tensor(at::empty({4, 5}).uniform_(-0.5, 0.5, generator))));
}

TEST_CASE("parameters are float32 leaves that require a gradient; the three starts hold what they promise") {
  TensorTable table;
  ModuleScope scope = ModuleScope(table, "seed-0001", 1, torch::kCPU).child("conv");
  const torch::Tensor uniform = scope.parameter("u", {10000}, kUniform);
  const torch::Tensor normal = scope.parameter("n", {10000}, {Init::Kind::kNormal, 0.02});
  const torch::Tensor constant = scope.parameter("c", {3}, {Init::Kind::kConstant, 3});
  CHECK(table.parameters[0].id == "seed-0001.conv.u");
  CHECK(table.num_parameters() == 20003);
  for (const auto& [id, tensor] : table.parameters) {
    CHECK(tensor.is_leaf());
    CHECK(tensor.requires_grad());
    CHECK(tensor.scalar_type() == torch::kFloat32);
  }
  CHECK(uniform.abs().max().item<float>() <= 0.5f);
  CHECK(uniform.abs().max().item<float>() > 0.49f);
  CHECK(std::abs(normal.std().item<float>() - 0.02f) < 0.001f);
  CHECK(std::abs(normal.mean().item<float>()) < 0.001f);
  CHECK(constant.eq(3).all().item<bool>());
}

TEST_CASE("two tensors of one id are a bug") {
  TensorTable table;
  ModuleScope scope(table, "host", 1, torch::kCPU);
  scope.parameter("weight", {1}, kZeros);
  CHECK_THROWS_AS(scope.parameter("weight", {1}, kZeros), base::Error);
  CHECK_THROWS_AS(scope.buffer("weight", at::zeros({1})), base::Error);
}

}  // namespace
}  // namespace esper::kasmina::tensor_table_test
