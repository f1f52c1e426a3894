#include "tamiyo/network/policy_file.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"
#include "tamiyo/network/initial_weights.h"

namespace esper::test::policy_file_test {

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

Provenance learned_somewhere() {
  Provenance provenance;
  provenance.method = "imitation";
  provenance.command = "esper policy imitate runs/a --out a.safetensors";
  provenance.runs = {{"runs/a", "0123456789abcdef", RunPart::kHeldOut, 90, 2}};
  provenance.held_out = {{"accuracy", 1.0 / 3}};
  return provenance;
}

// A file that draws all but one tensor.
struct DrawnFile {
  DrawnFile() : policy{initial_weights(5)} {
    policy.drawn_from = 5;
    policy.weights["value.bias"] = at::full({1}, 0.5);
    save();
  }

  void save() { save_policy(storage::real_file_system(), path, policy); }
  base::Expected<PolicyFile> load() const { return load_policy(storage::real_file_system(), path); }
  // Its own tensors and metadata, changed and written again without new hashes.
  void rewrite(const std::function<void(std::vector<storage::TensorView>&, storage::TensorMetadata&)>& change) const {
    auto read = storage::load_safetensors(storage::real_file_system(), path, kMaxPolicyBytes);
    REQUIRE(read);
    change(read->contents.tensors, read->contents.metadata);
    storage::publish_file(storage::real_file_system(), path, [&](const storage::ByteSink& sink) {
      storage::write_safetensors(read->contents.tensors, read->contents.metadata, sink);
    });
  }

  test::TemporaryFolder folder;
  std::string path = folder / "policy.safetensors";
  PolicyFile policy;
};

}  // namespace

TEST_CASE("a policy file comes back as it was saved") {
  const test::TemporaryFolder folder;
  PolicyFile saved{initial_weights(7), {{"trained_on", "digits"}}};
  saved.normaliser.moments[3] = {0.25, 1.0 / 3};
  saved.provenance = learned_somewhere();
  const std::string path = folder / "policy.safetensors";
  save_policy(storage::real_file_system(), path, saved);
  const auto loaded = load_policy(storage::real_file_system(), path);
  INFO(loaded.error_or(""));
  REQUIRE(loaded);
  CHECK(loaded->metadata == saved.metadata);
  CHECK(loaded->normaliser == saved.normaliser);
  REQUIRE(loaded->provenance);
  CHECK(provenance_text(*loaded->provenance) == provenance_text(*saved.provenance));
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
             EndsWith("policy.safetensors: tensor \"value.scale\" is not one of the network's"));
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

TEST_CASE("a file that draws its weights holds only what differs, and comes back whole") {
  DrawnFile file;
  CHECK(std::filesystem::file_size(file.path) < 10'000);
  const auto loaded = file.load();
  INFO(loaded.error_or(""));
  REQUIRE(loaded);
  CHECK(loaded->drawn_from == 5);
  CHECK(fingerprint(loaded->weights) == fingerprint(file.policy.weights));
  CHECK(loaded->weights.at("value.bias").item<float>() == 0.5F);
}

TEST_CASE("a tensor that was changed after the file was made is found out") {
  DrawnFile file;
  file.rewrite([](auto& tensors, auto&) {
    REQUIRE(tensors.size() == 1);
    static const float kOther[] = {0.25F};
    tensors[0].bytes = std::as_bytes(std::span(kOther));
  });
  const auto loaded = file.load();
  REQUIRE(!loaded);
  CHECK_THAT(loaded.error(), ContainsSubstring("its contents are not those that were written"));
}

TEST_CASE("metadata that was changed after the file was made is found out") {
  DrawnFile file;
  file.rewrite([](auto&, auto& metadata) { metadata["esper.drawn_from"] = "6"; });
  CHECK_THAT(file.load().error_or(""), ContainsSubstring("its contents are not those that were written"));
}

TEST_CASE("drawn weights need both hashes") {
  for (const char* key : {"esper.contents", "esper.weights"}) {
    CAPTURE(key);
    DrawnFile file;
    file.rewrite([&](auto&, auto& metadata) { metadata.erase(key); });
    const auto loaded = file.load();
    REQUIRE(!loaded);
    CHECK_THAT(loaded.error(), ContainsSubstring("is missing"));
  }
}

TEST_CASE("metadata that no file of this program has is named") {
  const auto problem_with_metadata = [](const std::string& key, const std::string& value) {
    DrawnFile file;
    file.rewrite([&](auto&, auto& metadata) { metadata[key] = value; });
    const auto loaded = file.load();
    REQUIRE(!loaded);
    return loaded.error();
  };
  CHECK_THAT(problem_with_metadata("esper.layers", "5"),
             ContainsSubstring("\"esper.layers\" is not known to this program"));
  CHECK_THAT(problem_with_metadata("esper.drawn_from", "-1"), ContainsSubstring("esper.drawn_from must be a seed"));
  CHECK_THAT(problem_with_metadata("esper.normaliser", "{}"),
             ContainsSubstring("esper.normaliser: the normaliser lacks"));
  CHECK_THAT(problem_with_metadata("esper.provenance", "{\"version\": 2}"),
             ContainsSubstring("esper.provenance: version: 2 is not 1"));
}

TEST_CASE("weights that are drawn otherwise than when the file was made are found out") {
  DrawnFile file;
  auto stored = read_stored_policy(storage::read_file(storage::real_file_system(), file.path, kMaxPolicyBytes));
  REQUIRE(stored);
  CHECK(stored->policy.weights.size() == 1);
  stored->policy.drawn_from = 6;
  const auto whole = complete(*std::move(stored));
  REQUIRE(!whole);
  CHECK_THAT(whole.error(), ContainsSubstring("draws weights differently"));
}

}  // namespace esper::test::policy_file_test
