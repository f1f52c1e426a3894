// A resident data set gives the very bits of the threaded loader.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/error.h"
#include "data/loading/loader.h"

namespace esper::data::resident_loader_test {
namespace {

struct Case {
  std::string name;
  Dataset set;
  Standardization standardization;
  config::AugmentConfig augment;
};

Dataset features(std::int64_t count, torch::Tensor inputs) {
  Dataset set;
  set.inputs = std::move(inputs);
  set.targets = torch::arange(count).remainder(4);
  set.shape = leyline::features_shape(set.inputs.size(1), 4);
  return set;
}

Dataset images(torch::Tensor inputs) {
  Dataset set;
  set.inputs = std::move(inputs);
  set.targets = torch::arange(set.inputs.size(0));
  set.shape = leyline::image_shape(set.inputs.size(1), set.inputs.size(2), set.inputs.size(3), set.inputs.size(0));
  return set;
}

Dataset text(std::int64_t count) {
  Dataset set;
  set.inputs = torch::randint(0, 60, {count * 5 + 1}, torch::kInt64);
  set.windows = torch::arange(count) * 5;
  set.shape = leyline::tokens_shape(5, 60);
  return set;
}

Dataset with_targets(Dataset set, torch::Tensor targets) {
  set.targets = std::move(targets);
  return set;
}

std::vector<Case> cases() {
  const Standardization four{{0.1f, -0.4f, 0.f, 3.f}, {0.2f, 1.5f, 1.f, 0.7f}};
  const Standardization colours{{0.4914f, 0.4822f, 0.4465f}, {0.247f, 0.2435f, 0.2616f}};
  const auto pixels = torch::randint(0, 256, {45, 3, 7, 6}, torch::kUInt8);
  return {
      {"features", features(45, torch::randn({45, 4})), four, {}},
      {"features of bytes", features(45, torch::randint(0, 256, {45, 4}, torch::kUInt8)), four, {}},
      {"features as they are", features(45, torch::randn({45, 4})), {}, {}},
      {"images", images(pixels), colours, {}},
      {"images, cropped", images(pixels), colours, {2, false}},
      {"images, flipped", images(pixels), colours, {0, true}},
      {"images, cropped and flipped", images(pixels), colours, {3, true}},
      {"images of floats, cropped and flipped", images(torch::randn({45, 3, 7, 6})), colours, {1, true}},
      {"images as they are", images(pixels), {}, {1, true}},
      {"text", text(45), {}, {}},
      {"several targets", with_targets(features(45, torch::randn({45, 4})), torch::randn({45, 3})), four, {}},
      {"standardised targets",
       with_targets(features(45, torch::randn({45, 4})), torch::randn({45, 3})),
       {{0.1f, -0.4f, 0.f, 3.f}, {0.2f, 1.5f, 1.f, 0.7f}, {5.f, -0.1f, 0.f}, {0.3f, 7.f, 1.f}},
       {}},
      {"a class for each pixel",
       with_targets(images(pixels), torch::randint(0, 5, {45, 7, 6}, torch::kInt64)),
       colours,
       {}},
      {"several targets of images, cropped", with_targets(images(pixels), torch::randn({45, 2})), colours, {2, false}}};
}

LoaderConfig config_of(const Case& c, Source source) {
  LoaderConfig config;
  config.batch_size = 8;
  config.seed = 1337;
  config.augment = c.augment;
  config.source = source;
  return config;
}

bool same(const Batch& a, const Batch& b) {
  return a.epoch == b.epoch && a.index == b.index && a.size == b.size && torch::equal(a.inputs, b.inputs) &&
         torch::equal(a.targets, b.targets) && a.inputs.strides() == b.inputs.strides() &&
         a.inputs.scalar_type() == b.inputs.scalar_type() && a.targets.strides() == b.targets.strides();
}

TEST_CASE("a data set that cannot be kept in memory ready to use is refused with the way out") {
  // Untouched memory, so that the test takes little of it; what the crop's padding makes of it is over a terabyte.
  constexpr std::int64_t kCount = 1 << 24;
  Dataset set;
  set.inputs = at::empty({kCount, 1, 1, 1}, torch::kUInt8);
  set.targets = at::empty({kCount}, torch::kInt64);
  set.shape = leyline::image_shape(1, 1, 1, 2);
  const Case large{"", set, {}, {64, false}};
  try {
    Loader(set, {}, config_of(large, Source::kResident));
    FAIL("it was not refused");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kResources);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("; set data.gpu_dataset: off, or give the process"));
  }
}

TEST_CASE("a resident data set gives the batches of the threaded loader to the bit, epoch after epoch") {
  for (const Case& c : cases()) {
    for (const auto& [order, epoch_samples] :
         {std::pair{Order::kShuffled, 0}, {Order::kShuffled, 20}, {Order::kShuffled, 5}, {Order::kSequential, 0}}) {
      CAPTURE(c.name, epoch_samples);
      auto config = config_of(c, Source::kThreads);
      config.order = order;
      config.epoch_samples = epoch_samples;
      Loader threaded(c.set, c.standardization, config);
      config.source = Source::kResident;
      Loader resident(c.set, c.standardization, config);
      REQUIRE(resident.num_batches() == threaded.num_batches());
      for (int i = 0; i < 21; ++i) {
        const auto expected = threaded.next();
        const auto batch = resident.next();
        REQUIRE(batch.has_value() == expected.has_value());
        if (batch) REQUIRE(same(*batch, *expected));
      }
    }
  }
}

TEST_CASE("a resident data set seeks to any place, and an epoch's end is one") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    Loader threaded(c.set, c.standardization, config_of(c, Source::kThreads));
    Loader resident(c.set, c.standardization, config_of(c, Source::kResident));
    for (const auto& [epoch, index] : {std::pair{3, 4}, {0, 0}, {7, 5}, {7, 5}, {2, 1}}) {
      threaded.seek(epoch, index);
      resident.seek(epoch, index);
      REQUIRE(same(*resident.next(), *threaded.next()));
    }
    resident.seek(4, 6);
    CHECK(!resident.next());
    CHECK(resident.next()->epoch == 5);
  }
}

TEST_CASE("a batch that somebody holds, or a view of it, is never written again") {
  const auto c = cases()[0];
  for (const bool whole : {true, false}) {
    CAPTURE(whole);
    Loader resident(c.set, c.standardization, config_of(c, Source::kResident));
    std::vector<torch::Tensor> held, copies;
    for (int epoch = 0; epoch < 5; ++epoch) {
      for (std::int64_t n = 0; auto batch = resident.next(); ++n) {
        REQUIRE(n < resident.num_batches());
        const at::AutoDispatchBelowADInplaceOrView below;  // as in a step: the view does not hold the batch
        held.push_back(whole ? batch->inputs : batch->inputs.slice(0, 0, 2));
        copies.push_back(held.back().clone());
      }
    }
    for (std::size_t i = 0; i < held.size(); ++i) CHECK(torch::equal(held[i], copies[i]));
  }
}

TEST_CASE("a batch that was given back is made in the same memory") {
  const auto c = cases()[0];
  Loader resident(c.set, c.standardization, config_of(c, Source::kResident));
  const void* first = resident.next()->inputs.const_data_ptr();
  CHECK(resident.next()->inputs.const_data_ptr() == first);
}

TEST_CASE("a resident data set refuses what the threaded loader refuses") {
  const Case rows{"features", features(8, torch::randn({8, 4})), {}, {2, false}};
  CHECK_THROWS_AS(Loader(rows.set, {}, config_of(rows, Source::kResident)), base::Error);
  Case words{"text", text(8), {}, {0, true}};
  CHECK_THROWS_AS(Loader(words.set, {}, config_of(words, Source::kResident)), base::Error);
  words.augment = {};
  words.set.windows[3] = 41;  // past the end
  auto config = config_of(words, Source::kResident);
  config.order = Order::kSequential;
  Loader loader(words.set, {}, config);
  CHECK_THROWS_AS(loader.next(), base::Error);
}

TEST_CASE("what a resident data set takes is known before it is made") {
  const auto all = cases();
  CHECK(resident_bytes(all[0].set, all[0].augment) == 45 * (4 * 4 + 8));
  CHECK(resident_bytes(all[4].set, all[4].augment) == 45 * (3 * 11 * 10 * 4 + 8));
  CHECK(resident_bytes(all[9].set, all[9].augment) == (45 * 5 + 1) * 8);
}

}  // namespace
}  // namespace esper::data::resident_loader_test
