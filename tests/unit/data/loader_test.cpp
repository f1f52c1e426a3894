#include "data/loading/loader.h"

#include <ATen/ops/arange.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/fault.h"
#include "base/interrupt.h"
#include "support/loader_epoch.h"
#include "support/threads.h"

namespace esper::data::loader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

Dataset images(std::int64_t count) {
  Dataset set;
  set.inputs = torch::arange(count * 3 * 6 * 6).remainder(251).reshape({count, 3, 6, 6}).to(torch::kUInt8);
  set.targets = torch::arange(count);
  set.shape = leyline::image_shape(3, 6, 6, count);
  return set;
}

// Windows of a text, the one numbered `broken` past its end: preparing its batch fails.
Dataset text_with_broken_window(std::int64_t count, std::int64_t broken) {
  Dataset set;
  set.inputs = torch::arange(count * 4 + 1);
  set.windows = torch::arange(count) * 4;
  set.windows[broken] = count * 4 + 1;
  set.shape = leyline::tokens_shape(4, count * 4 + 1);
  return set;
}

// Whose batch takes longer than a millisecond.
Dataset one_large_sample() {
  Dataset set;
  set.inputs = torch::zeros({1, 30'000'000}, torch::kUInt8);
  set.targets = torch::zeros({1}, torch::kInt64);
  set.shape = leyline::features_shape(30'000'000, 2);
  return set;
}

LoaderConfig config_of(int workers, int prefetch = 2) {
  LoaderConfig config;
  config.batch_size = 8;
  config.workers = workers;
  config.prefetch = prefetch;
  config.seed = 1337;
  config.augment = {2, true};
  return config;
}

void check_equal(const Batch& a, const Batch& b) {
  REQUIRE(a.epoch == b.epoch);
  REQUIRE(a.index == b.index);
  REQUIRE(a.size == b.size);
  REQUIRE(torch::equal(a.targets, b.targets));
  REQUIRE(torch::equal(a.inputs, b.inputs));
}

std::vector<Batch> run_epochs(Loader& loader, int epochs) {
  std::vector<Batch> batches;
  for (int e = 0; e < epochs; ++e) {
    for (auto& batch : esper::test::rest_of_epoch(loader)) batches.push_back(std::move(batch));
  }
  return batches;
}

TEST_CASE("threads that end with an epoch read nothing of the next one") {
  const auto set = images(45);
  auto config = config_of(2, 4);
  config.worker_life = WorkerLife::kEpoch;
  base::fault::arm("data.hangs", 1000);  // counts the batches that are read, and never fires
  Loader loader(set, {}, config);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    CHECK(run_epochs(loader, 1).size() == 6);
    CHECK(base::fault::hits("data.hangs") == static_cast<std::uint64_t>(6 * epoch));
  }
  base::fault::disarm_all();
}

TEST_CASE("where the driver gives no page-locked memory batches lie in pageable memory, and the loader says why") {
  const auto set = images(45);
  auto config = config_of(2);
  Loader pageable(set, {}, config);
  const auto expected = run_epochs(pageable, 2);
  CHECK(pageable.pinned_refusal().empty());
  config.staging = Staging::kPinned;
  base::fault::arm("device.pinned_memory", 1, base::fault::kEveryHit);
  {
    Loader refused(set, {}, config);
    const auto batches = run_epochs(refused, 2);
    REQUIRE(batches.size() == expected.size());
    for (std::size_t i = 0; i < batches.size(); ++i) check_equal(batches[i], expected[i]);
    CHECK(refused.pinned_refusal() == "fault point device.pinned_memory");
    CHECK(base::fault::hits("device.pinned_memory") <= 2);  // each thread asks once
  }
  base::fault::disarm_all();
}

TEST_CASE("an epoch of fewer samples begins like a whole one, and each draws again from all samples") {
  const auto set = images(45);
  auto config = config_of(0);
  Loader whole(set, {}, config);
  config.epoch_samples = 20;
  Loader part(set, {}, config);
  CHECK(part.num_batches() == 3);
  std::set<std::int64_t> seen;
  for (int epoch = 0; epoch < 40; ++epoch) {
    whole.seek(epoch, 0);
    for (const std::int64_t size : {8, 8, 4}) {
      const auto expected = whole.next(), batch = part.next();
      REQUIRE((batch && expected));
      REQUIRE(batch->size == size);
      REQUIRE(torch::equal(batch->targets, expected->targets.narrow(0, 0, size)));
      for (std::int64_t i = 0; i < size; ++i) seen.insert(batch->targets[i].item<std::int64_t>());
    }
    REQUIRE(!part.next());
  }
  CHECK(seen.size() == 45);
  config.epoch_samples = 46;
  CHECK(Loader(set, {}, config).num_batches() == 6);
}

TEST_CASE("an epoch delivers every sample once, in order, and keeps the last short batch") {
  const auto set = images(45);
  Loader loader(set, {}, config_of(2));
  CHECK(loader.num_batches() == 6);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::multiset<std::int64_t> seen;
    for (std::int64_t index = 0; index < 6; ++index) {
      const auto batch = loader.next();
      REQUIRE(batch);
      CHECK(batch->epoch == epoch);
      CHECK(batch->index == index);
      CHECK(batch->size == (index == 5 ? 5 : 8));
      CHECK(batch->inputs.sizes() == std::vector<std::int64_t>{batch->size, 3, 6, 6});
      for (std::int64_t i = 0; i < batch->size; ++i) seen.insert(batch->targets[i].item<std::int64_t>());
    }
    CHECK(!loader.next());
    CHECK(seen.size() == 45);
    CHECK(std::set(seen.begin(), seen.end()).size() == 45);
  }
}

TEST_CASE("the number of workers and of batches ahead changes no bit") {
  const auto set = images(100);
  const Standardization s{{0.4f, 0.5f, 0.6f}, {0.2f, 0.25f, 0.3f}};
  Loader reference(set, s, config_of(0));
  const auto expected = run_epochs(reference, 3);
  for (const int workers : {1, 2, 8}) {
    for (const int prefetch : {1, 3, 16}) {
      Loader loader(set, s, config_of(workers, prefetch));
      const auto batches = run_epochs(loader, 3);
      REQUIRE(batches.size() == expected.size());
      for (std::size_t i = 0; i < batches.size(); ++i) check_equal(batches[i], expected[i]);
    }
  }
}

TEST_CASE("seeking equals running to the place") {
  const auto set = images(45);
  Loader running(set, {}, config_of(0));
  const auto expected = run_epochs(running, 3);
  for (const int workers : {0, 1, 4}) {
    for (std::size_t from = 0; from < expected.size(); ++from) {
      Loader loader(set, {}, config_of(workers));
      loader.seek(expected[from].epoch, expected[from].index);
      for (std::size_t i = from; i < expected.size(); ++i) {
        auto batch = loader.next();
        if (!batch) batch = loader.next();
        REQUIRE(batch);
        check_equal(*batch, expected[i]);
      }
    }
  }
}

TEST_CASE("a loader's place is where next() goes on, the end of an epoch included") {
  const auto set = images(20);
  Loader loader(set, {}, config_of(0));
  for (std::int64_t step = 0; step < 3 * (loader.num_batches() + 1); ++step) {
    const auto place = loader.place();
    const auto batch = loader.next();
    CHECK(place.epoch == step / (loader.num_batches() + 1));
    CHECK(place.batch == step % (loader.num_batches() + 1));
    CHECK(batch.has_value() == (place.batch < loader.num_batches()));
    loader.seek(0, 0);
    loader.seek(place.epoch, place.batch);
    const auto again = loader.next();
    REQUIRE(again.has_value() == batch.has_value());
    if (batch) check_equal(*again, *batch);
  }
}

TEST_CASE("seeking back and forth on one loader drops what was prepared for elsewhere") {
  const auto set = images(45);
  Loader running(set, {}, config_of(0)), loader(set, {}, config_of(3, 4));
  const auto expected = run_epochs(running, 3);
  for (const std::size_t at : {3u, 0u, 17u, 6u, 6u, 5u, 11u, 12u}) {
    loader.seek(expected[at].epoch, expected[at].index);
    check_equal(*loader.next(), expected[at]);
  }
}

TEST_CASE("a batch that was being prepared when the cursor moved never arrives") {
  const auto set = images(4000);
  auto config = config_of(3, 1);  // one slot: a late result could only land where the next batch is expected
  config.batch_size = 1000;       // long enough to be under way when the next seek comes
  Loader loader(set, {}, config);
  for (int round = 0; round < 100; ++round) {
    const std::int64_t epoch = round % 7, index = round * 3 % 4;
    loader.seek(epoch, index);
    const auto batch = loader.next();
    REQUIRE(batch);
    REQUIRE(batch->epoch == epoch);
    REQUIRE(batch->index == index);
  }
}

TEST_CASE("a sample's augmentation does not depend on the size of the batches") {
  const auto set = images(45);
  auto small = config_of(1);
  small.batch_size = 4;
  Loader large_batches(set, {}, config_of(1)), small_batches(set, {}, small);
  for (int i = 0; i < 5; ++i) {
    const auto first = small_batches.next()->inputs, second = small_batches.next()->inputs;
    CHECK(torch::equal(large_batches.next()->inputs, torch::cat({first, second})));
  }
}

TEST_CASE("an epoch's end is a place to seek to") {
  const auto set = images(45);
  for (const auto order : {Order::kSequential, Order::kShuffled}) {
    for (const int workers : {0, 2}) {
      auto config = config_of(workers);
      config.order = order;
      Loader loader(set, {}, config);
      loader.seek(4, 6);
      CHECK(!loader.next());
      const auto batch = loader.next();
      REQUIRE(batch);
      CHECK(batch->epoch == 5);
      CHECK(batch->index == 0);
    }
  }
}

TEST_CASE("shuffled epochs differ; sequential ones are the data set itself, again and again") {
  const auto set = images(45);
  Loader shuffled(set, {}, config_of(1));
  const auto batches = run_epochs(shuffled, 2);
  CHECK(!torch::equal(batches[0].targets, batches[6].targets));
  CHECK(!torch::equal(batches[0].targets, torch::arange(8)));
  auto config = config_of(2);
  config.order = Order::kSequential;
  config.augment = {};
  Loader sequential(set, {}, config);
  for (int pass = 0; pass < 3; ++pass) {
    if (pass == 2) sequential.seek(0, 0);
    const auto first = sequential.next();
    CHECK(torch::equal(first->targets, torch::arange(8)));
    CHECK(torch::equal(first->inputs, set.inputs.slice(0, 0, 8).to(torch::kFloat32) / 255.f));
    esper::test::rest_of_epoch(sequential);
  }
}

TEST_CASE("what fails in a worker surfaces at its batch, again until a seek, and hangs nothing") {
  const auto set = text_with_broken_window(40, 21);
  for (const int workers : {0, 1, 4}) {
    auto config = config_of(workers);
    config.order = Order::kSequential;
    config.augment = {};
    Loader loader(set, {}, config);
    CHECK(loader.next()->index == 0);
    CHECK(loader.next()->index == 1);
    for (int again = 0; again < 2; ++again) {
      CHECK_THROWS_AS(loader.next(), base::Error);
    }
    loader.seek(0, 2);
    CHECK_THROWS_AS(loader.next(), base::Error);
    loader.seek(0, 3);
    CHECK(loader.next()->index == 3);
    CHECK(loader.next()->index == 4);
    CHECK(!loader.next());
  }
}

TEST_CASE("waiting has a deadline, and a late batch is still delivered") {
  const auto set = one_large_sample();
  auto config = config_of(1);
  config.augment = {};
  config.deadline = 1ms;
  Loader loader(set, {}, config);
  try {
    loader.next();
    FAIL("30 million numbers in a millisecond");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kData);
    CHECK_THAT(error.what(), ContainsSubstring("batch 0 of epoch 0 was not ready within 1 ms"));
  }
  std::optional<Batch> batch;
  for (int tries = 0; !batch && tries < 10000; ++tries) {
    try {
      batch = loader.next();
    } catch (const base::Error&) {
    }
  }
  REQUIRE(batch);
  CHECK(batch->index == 0);
}

TEST_CASE("a signal ends the wait for a batch at once, or after the time that the caller names") {
  const auto set = one_large_sample();
  auto config = config_of(1);
  config.augment = {};
  Loader loader(set, {}, config);
  base::Interrupt interrupt;
  interrupt.begin_saving();
  raise(SIGTERM);
  CHECK_FALSE(loader.next());
  CHECK(loader.place().batch == 0);
  const auto batch = loader.next(1h);
  REQUIRE(batch);
  CHECK(batch->index == 0);
}

TEST_CASE("a loader can be destroyed at any moment: no thread is left, and nobody holds the data set") {
  const auto set = images(200);
  const auto threads = esper::test::num_threads();
  for (int round = 0; round < 50; ++round) {
    auto loader = std::make_optional<Loader>(set, Standardization{}, config_of(8, 4));
    CHECK(esper::test::num_threads() == threads + 8);
    if (round % 3 == 1) loader->seek(round, 1);
    std::optional<Batch> batch;
    if (round % 3 == 2) batch = loader->next();
    loader.reset();
    CHECK(esper::test::comes_to_threads(threads));
    CHECK(set.inputs.use_count() == 1);
    CHECK(set.targets.use_count() == 1);
    if (batch) CHECK(batch->inputs.use_count() == 1);  // what was handed out is the caller's
  }
}

TEST_CASE("threads that end with their epoch give the same batches, and can be sent anywhere") {
  const auto set = images(45);
  Loader reference(set, {}, config_of(0));
  const auto expected = run_epochs(reference, 3);
  for (const auto order : {Order::kShuffled, Order::kSequential}) {
    auto config = config_of(2, 3);
    config.worker_life = WorkerLife::kEpoch;
    config.order = order;
    if (order == Order::kSequential) {
      Loader loader(set, {}, config);
      for (int pass = 0; pass < 3; ++pass) CHECK(run_epochs(loader, 1).size() == 6);
      continue;
    }
    Loader loader(set, {}, config);
    const auto batches = run_epochs(loader, 3);
    REQUIRE(batches.size() == expected.size());
    for (std::size_t i = 0; i < batches.size(); ++i) check_equal(batches[i], expected[i]);
    for (const std::size_t at : {17u, 0u, 6u}) {
      loader.seek(expected[at].epoch, expected[at].index);
      check_equal(*loader.next(), expected[at]);
    }
  }
}

}  // namespace
}  // namespace esper::data::loader_test
