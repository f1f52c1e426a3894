#include "data/loading/transform.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/flip.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "base/error.h"

namespace esper::data::transform_test {
namespace {

Dataset images(torch::ScalarType type) {
  Dataset set;
  set.inputs = torch::arange(6 * 2 * 5 * 7).remainder(251).reshape({6, 2, 5, 7}).to(type);
  set.targets = torch::arange(6);
  set.shape = leyline::image_shape(2, 5, 7, 6);
  return set;
}

struct Filled {
  torch::Tensor inputs, targets;
};

Filled fill(const Transform& transform, const std::vector<std::int64_t>& samples, const AugmentDraw& draw = {}) {
  const auto count = static_cast<std::int64_t>(samples.size());
  Filled out{torch::empty(transform.input_sizes(count), transform.input_type()),
             torch::empty(transform.target_sizes(count), torch::kInt64)};
  transform.fill(samples, draw, out.inputs, out.targets);
  return out;
}

// The same with torch operators.
torch::Tensor standardised(const Dataset& set, const Standardization& s) {
  auto x = set.inputs.to(torch::kFloat32);
  if (set.inputs.scalar_type() == torch::kUInt8) x = x / 255.f;
  if (s.mean.empty()) return x;
  const std::vector<std::int64_t> sizes =
      x.dim() == 4 ? std::vector<std::int64_t>{-1, 1, 1} : std::vector<std::int64_t>{-1};
  return (x - torch::tensor(s.mean).reshape(sizes)) / torch::tensor(s.deviation).reshape(sizes);
}

TEST_CASE("a batch is gathered and standardised exactly as torch does it") {
  for (const auto type : {torch::kUInt8, torch::kFloat32}) {
    for (const auto& s : {Standardization{}, Standardization{{0.25f, 0.5f}, {0.2f, 1.7f}}}) {
      const auto set = images(type);
      const auto out = fill(Transform(set, s, {}), {4, 0, 4});
      const auto index = torch::tensor({4, 0, 4});
      CHECK(torch::equal(out.inputs, standardised(set, s).index_select(0, index)));
      CHECK(torch::equal(out.targets, set.targets.index_select(0, index)));
    }
    Dataset features = images(type);
    features.inputs = features.inputs.reshape({6, 70});
    features.shape = leyline::features_shape(70, 6);
    const auto s = measure(features.inputs, features.shape);
    CHECK(torch::equal(fill(Transform(features, s, {}), {5, 1}).inputs,
                       standardised(features, s).index_select(0, torch::tensor({5, 1}))));
  }
}

TEST_CASE("targets of a regression are standardised, one by one, and samples without numbers have none") {
  Dataset set = images(torch::kFloat32);
  const Standardization s{{}, {}, {500000.f, 1.f}, {100000.f, 0.5f}};
  CHECK(torch::equal(fill(Transform(set, s, {}), {5, 1}).targets, torch::tensor({5, 1}, torch::kInt64)));
  set.targets = torch::tensor({{5e5f, 1.f}, {6e5f, 1.5f}, {3e5f, 0.f}, {0.f, 0.f}, {0.f, 0.f}, {0.f, 0.f}});
  const Transform transform(set, s, {});
  auto inputs = torch::empty(transform.input_sizes(3)), targets = torch::empty(transform.target_sizes(3));
  transform.fill(std::vector<std::int64_t>{2, 0, 1}, {}, inputs, targets);
  CHECK(torch::equal(targets, torch::tensor({{-2.f, -2.f}, {0.f, 0.f}, {1.f, 1.f}})));
  CHECK(torch::equal(inputs[1], set.inputs[0]));
}

TEST_CASE("crop and flip give every placement, each exactly, and flips half of the time") {
  const Standardization s{{0.25f, 0.5f}, {0.2f, 1.7f}};
  for (const auto type : {torch::kUInt8, torch::kFloat32}) {
    const auto set = images(type);
    auto padded = set;
    padded.inputs = at::constant_pad_nd(set.inputs, {2, 2, 2, 2}, 0);
    const auto source = standardised(padded, s)[3];
    const Transform transform(set, s, {2, true});
    std::set<std::tuple<int, int, bool>> seen;
    int flips = 0;
    constexpr int kDraws = 2000;
    for (int position = 0; position < kDraws; ++position) {
      const auto out = fill(transform, {3}, {11, 2, position}).inputs[0];
      int matches = 0;
      for (int top = 0; top < 5; ++top) {
        for (int left = 0; left < 5; ++left) {
          for (const bool flip : {false, true}) {
            auto window = source.slice(1, top, top + 5).slice(2, left, left + 7);
            if (flip) window = window.flip({2});
            if (!torch::equal(window, out)) continue;
            ++matches;
            flips += flip;
            seen.insert({top, left, flip});
          }
        }
      }
      REQUIRE(matches == 1);
    }
    CHECK(seen.size() == 50);
    CHECK(std::abs(flips - kDraws / 2) < 150);
  }
}

TEST_CASE("augmentation depends on seed, epoch and position, not on the batch around it") {
  const auto set = images(torch::kUInt8);
  const Transform transform(set, {}, {2, true});
  const auto whole = fill(transform, {0, 1, 2, 3}, {1, 0, 8}).inputs;
  CHECK(torch::equal(whole.slice(0, 2, 4), fill(transform, {2, 3}, {1, 0, 10}).inputs));
  CHECK(!torch::equal(whole, fill(transform, {0, 1, 2, 3}, {1, 1, 8}).inputs));
  CHECK(!torch::equal(whole, fill(transform, {0, 1, 2, 3}, {2, 0, 8}).inputs));
}

TEST_CASE("windows of text: targets are inputs one later") {
  Dataset set;
  set.inputs = torch::arange(20);
  set.windows = torch::tensor({0, 7, 14}, torch::kInt64);
  set.shape = leyline::tokens_shape(5, 20);
  const auto out = fill(Transform(set, {}, {}), {2, 0});
  CHECK(torch::equal(out.inputs, torch::stack({torch::arange(14, 19), torch::arange(0, 5)})));
  CHECK(torch::equal(out.targets, out.inputs + 1));
}

TEST_CASE("augmentation of images with a class for each pixel is refused") {
  Dataset set = images(torch::kUInt8);
  set.targets = torch::zeros({6, 5, 7}, torch::kInt64);
  CHECK(Transform(set, {}, {}).target_sizes(2) == std::vector<std::int64_t>{2, 5, 7});
  CHECK_THROWS_AS(Transform(set, {}, {0, true}), base::Error);
}

TEST_CASE("augmentation of what is no image is refused") {
  Dataset set = images(torch::kUInt8);
  set.inputs = set.inputs.reshape({6, 70});
  set.shape = leyline::features_shape(70, 6);
  CHECK_THROWS_AS(Transform(set, {}, {0, true}), base::Error);
  CHECK_THROWS_AS(Transform(set, {}, {1, false}), base::Error);
}

}  // namespace
}  // namespace esper::data::transform_test
