#include "drill/tensor_comparison.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/error.h"
#include "storage/safetensors/safetensors.h"
#include "support/temporary_folder.h"

namespace esper::test::tensor_comparison_test {
namespace {

using storage::Dtype;

struct Numbers {
  std::string name;
  std::vector<float> values;
};

std::string file_of(const TemporaryFolder& folder, const std::string& name, const std::vector<Numbers>& tensors) {
  std::vector<storage::TensorView> views;
  for (const auto& [id, values] : tensors) {
    views.push_back({id,
                     Dtype::kF32,
                     {static_cast<std::int64_t>(values.size())},
                     {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)}});
  }
  std::ofstream file(folder / name, std::ios::binary);
  storage::write_safetensors(views, {}, [&](storage::Bytes bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  return folder / name;
}

const drill::Aspect& aspect_of(const std::vector<drill::Aspect>& aspects, const std::string& name) {
  const auto found = std::ranges::find(aspects, name, &drill::Aspect::name);
  REQUIRE(found != aspects.end());
  return *found;
}

}  // namespace

TEST_CASE("tensors are compared bit by bit, by what they are for") {
  const TemporaryFolder folder;
  const std::vector<Numbers> all{
      {"host.weight", {1, 2, 3}}, {"optimizer.exp_avg.host.weight", {0.5}}, {"rng.cpu", {7}}};
  const auto first = file_of(folder, "a", all);
  for (const auto& aspect : drill::compare_tensors(first, file_of(folder, "b", all))) {
    CHECK(aspect.compared == 1);
    CHECK(aspect.difference.empty());
  }
  auto changed = all;
  changed[1].values[0] = 0.50000006F;
  changed[0].values[2] = -3;
  const auto aspects = drill::compare_tensors(first, file_of(folder, "b", changed));
  CHECK(aspect_of(aspects, "parameters and buffers").difference ==
        "host.weight: 1 of 3 elements differ, the first is element 2");
  CHECK(aspect_of(aspects, "optimizer state").difference ==
        "optimizer.exp_avg.host.weight: 1 of 1 elements differ, the first is element 0");
  CHECK(aspect_of(aspects, "random number generators").difference.empty());
}

TEST_CASE("0 and -0, another shape, a missing tensor and one too many are differences") {
  const TemporaryFolder folder;
  const auto difference = [&](const std::vector<Numbers>& reference, const std::vector<Numbers>& other) {
    return aspect_of(drill::compare_tensors(file_of(folder, "a", reference), file_of(folder, "b", other)),
                     "parameters and buffers")
        .difference;
  };
  CHECK(difference({{"w", {0.0F}}}, {{"w", {-0.0F}}}) == "w: 1 of 1 elements differ, the first is element 0");
  CHECK(difference({{"w", {1, 2}}}, {{"w", {1}}}) == "w is F32 [1], not F32 [2]");
  CHECK(difference({{"v", {1}}, {"w", {1}}}, {{"v", {1}}}) == "w is missing");
  CHECK(difference({{"v", {1}}}, {{"v", {1}}, {"w", {1}}}) == "w is not in the reference");
}

TEST_CASE("a file that is no checkpoint is an error") {
  const TemporaryFolder folder;
  const auto whole = file_of(folder, "a", {{"w", {1}}});
  std::ofstream(folder / "b") << "no tensors";
  CHECK_THROWS_AS(drill::compare_tensors(whole, folder / "b"), base::Error);
}

}  // namespace esper::test::tensor_comparison_test
