#include "tamiyo/network/weights.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"
#include "tamiyo/network/initial_weights.h"

using namespace esper;
using namespace esper::tamiyo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

constexpr char kFirst[] = "encoders.global.0.weight";  // what a reader asks for first

storage::TensorView view_of(const std::string& name, const at::Tensor& tensor, storage::Dtype dtype) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {name, dtype, tensor.sizes().vec(), {bytes, tensor.nbytes()}};
}

// Of reading a file with this tensor alone.
std::string problem_with(const at::Tensor& tensor, storage::Dtype dtype = storage::Dtype::kF32) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "policy.safetensors";
  storage::publish_file(storage::real_file_system(), path, [&](const storage::ByteSink& sink) {
    storage::write_safetensors({view_of(kFirst, tensor, dtype)}, {}, sink);
  });
  const auto loaded = load_policy(storage::real_file_system(), path);
  REQUIRE(!loaded);
  CHECK_THAT(loaded.error(), ContainsSubstring("policy.safetensors: tensor "));
  return loaded.error();
}

std::string problem_after(const std::function<void(Weights&)>& change) {
  const test::TemporaryFolder folder;
  PolicyFile policy{initial_weights(1), {}};
  change(policy.weights);
  save_policy(storage::real_file_system(), folder / "policy.safetensors", policy);
  const auto loaded = load_policy(storage::real_file_system(), folder / "policy.safetensors");
  REQUIRE(!loaded);
  return loaded.error();
}

}  // namespace

TEST_CASE("a policy file comes back as it was saved") {
  const test::TemporaryFolder folder;
  const PolicyFile saved{initial_weights(7), {{"trained_on", "digits"}}};
  const std::string path = folder / "policy.safetensors";
  save_policy(storage::real_file_system(), path, saved);
  const auto loaded = load_policy(storage::real_file_system(), path);
  INFO(loaded.error_or(""));
  REQUIRE(loaded);
  CHECK(loaded->metadata == saved.metadata);
  REQUIRE(loaded->weights.size() == saved.weights.size());
  for (const auto& [name, tensor] : saved.weights) {
    INFO(name);
    CHECK(at::equal(loaded->weights.at(name), tensor));
  }
}

TEST_CASE("a missing tensor is named") {
  CHECK_THAT(problem_after([](Weights& weights) { weights.erase("value.bias"); }),
             EndsWith("policy.safetensors: tensor value.bias is missing"));
}

TEST_CASE("an unknown tensor is named") {
  CHECK_THAT(problem_after([](Weights& weights) { weights["value.scale"] = at::ones({1}); }),
             EndsWith("policy.safetensors: tensor value.scale is none of the network's"));
}

TEST_CASE("a tensor of another shape is named with both shapes") {
  CHECK_THAT(problem_with(at::zeros({16, 256})),
             EndsWith("tensor encoders.global.0.weight has shape [16, 256], the network's is [256, 16]"));
  CHECK_THAT(problem_with(at::zeros({256})), ContainsSubstring("has shape [256], the network's is [256, 16]"));
}

TEST_CASE("a tensor of another type is named") {
  CHECK_THAT(problem_with(at::zeros({256, 16}, at::kHalf), storage::Dtype::kF16),
             EndsWith("tensor encoders.global.0.weight has type F16, not F32"));
}

TEST_CASE("a tensor that is not finite is named") {
  for (const double value : {NAN, INFINITY, -INFINITY}) {
    at::Tensor tensor = at::zeros({256, 16});
    tensor.mutable_data_ptr<float>()[17] = static_cast<float>(value);
    CHECK_THAT(problem_with(tensor), ContainsSubstring("tensor encoders.global.0.weight is not finite: element 17"));
  }
}

TEST_CASE("a file that is larger than any policy is not read") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "policy.safetensors";
  storage::publish_file(storage::real_file_system(), path, storage::bytes_of("{}"));
  std::filesystem::resize_file(path, kMaxPolicyBytes + 1);  // a hole: no byte is written
  const auto loaded = load_policy(storage::real_file_system(), path);
  REQUIRE(!loaded);
  CHECK_THAT(loaded.error(), ContainsSubstring("is larger than"));
}
