// Also built with the thread sanitizer, by tests/tsan: it holds no torch.
#include "data/loading/prefetch.h"

#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/comes_true.h"
#include "support/patience.h"
#include "support/threads.h"

namespace esper::data::prefetch_test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// A number with a buffer, counted while it lives.
class Item {
 public:
  explicit Item(std::int64_t number) : number_(std::make_unique<std::int64_t>(number)) { ++alive; }
  Item(Item&& other) noexcept : number_(std::move(other.number_)) { ++alive; }
  Item& operator=(Item&&) noexcept = default;
  ~Item() { --alive; }
  std::int64_t number() const { return *number_; }

  static inline std::atomic<int> alive{0};

 private:
  std::unique_ptr<std::int64_t> number_;
};

Item make_item(std::int64_t number) { return Item(number); }

std::int64_t take_number(Prefetch<Item>& prefetch) {
  auto item = prefetch.take(esper::test::kPatience);
  REQUIRE(item);
  return item->number();
}

TEST_CASE("items come in the order of their numbers, whoever makes them, up to the end") {
  const int threads = GENERATE(1, 2, 8), ahead = GENERATE(1, 3, 16);
  Prefetch<Item> prefetch(threads, ahead, make_item);
  prefetch.start(5, 205);
  for (std::int64_t number = 5; number < 205; ++number) {
    REQUIRE(prefetch.gives(number));
    REQUIRE(take_number(prefetch) == number);
  }
  CHECK_FALSE(prefetch.gives(205));
  CHECK_FALSE(prefetch.take(0ns));
}

TEST_CASE("no more items than asked for are made ahead") {
  std::atomic<int> made{0};
  {
    Prefetch<Item> prefetch(4, 3, [&](std::int64_t number) {
      ++made;
      return Item(number);
    });
    prefetch.start(0, kNoEnd);
    for (int taken = 1; taken <= 100; ++taken) {
      take_number(prefetch);
      REQUIRE(made <= taken + 3);
    }
  }
  CHECK(Item::alive == 0);
}

TEST_CASE("what is being made when production starts elsewhere never arrives") {
  // Item 0 is held until item 100 was taken, which another thread makes into the same slot.
  std::latch go_on(1), begun(1);
  Prefetch<Item> prefetch(2, 1, [&](std::int64_t number) {
    if (number == 0) begun.count_down(), go_on.wait();
    return Item(number);
  });
  prefetch.start(0, kNoEnd);
  begun.wait();
  prefetch.start(100, kNoEnd);
  CHECK(take_number(prefetch) == 100);
  go_on.count_down();
  for (std::int64_t number = 101; number < 200; ++number) REQUIRE(take_number(prefetch) == number);
}

TEST_CASE("production can be sent anywhere at any time, and stopped") {
  const bool threads_end = GENERATE(false, true);
  const auto threads = esper::test::num_threads();
  Prefetch<Item> prefetch(3, 4, make_item);
  for (std::int64_t round = 0; round < 200; ++round) {
    const std::int64_t first = round * 37 % 11;
    prefetch.start(first, kNoEnd);
    for (std::int64_t i = 0; i < round % 4; ++i) REQUIRE(take_number(prefetch) == first + i);
    if (round % 5 != 0) continue;
    threads_end ? prefetch.end_threads() : prefetch.stop();
    REQUIRE_FALSE(prefetch.is_running());
    REQUIRE_FALSE(prefetch.gives(first + round % 4));
    if (threads_end) REQUIRE(esper::test::comes_to_threads(threads));
    if (threads_end) REQUIRE(Item::alive == 0);
  }
}

TEST_CASE("what fails surfaces at its number, each time until production starts again") {
  Prefetch<Item> prefetch(GENERATE(1, 4), 3, [](std::int64_t number) {
    if (number == 2) throw std::runtime_error("number 2");
    return Item(number);
  });
  prefetch.start(0, 5);
  CHECK(take_number(prefetch) == 0);
  CHECK(take_number(prefetch) == 1);
  for (int again = 0; again < 2; ++again) CHECK_THROWS_AS(prefetch.take(esper::test::kPatience), std::runtime_error);
  CHECK_FALSE(prefetch.gives(2));
  prefetch.start(3, 5);
  CHECK(take_number(prefetch) == 3);
  CHECK(take_number(prefetch) == 4);
}

TEST_CASE("waiting has a deadline, and a late item is still given") {
  std::latch go_on(1);
  Prefetch<Item> prefetch(1, 2, [&](std::int64_t number) {
    go_on.wait();
    return Item(number);
  });
  prefetch.start(7, kNoEnd);
  CHECK_FALSE(prefetch.take(1ms));
  CHECK_FALSE(prefetch.take(0ns));
  go_on.count_down();
  CHECK(take_number(prefetch) == 7);
  CHECK(take_number(prefetch) == 8);
}

TEST_CASE("an item that is given up while it is waited for comes later") {
  std::latch go_on(1);
  Prefetch<Item> prefetch(1, 2, [&](std::int64_t number) {
    go_on.wait();
    return Item(number);
  });
  prefetch.start(7, kNoEnd);
  std::atomic<bool> is_given_up{false};
  std::thread impatient([&] {
    std::this_thread::sleep_for(50ms);
    is_given_up = true;
  });
  CHECK_FALSE(prefetch.take(esper::test::kPatience, [&] { return is_given_up.load(); }));
  CHECK(is_given_up);
  impatient.join();
  go_on.count_down();
  CHECK(take_number(prefetch) == 7);
  REQUIRE(esper::test::comes_true([] { return Item::alive > 0; }));
  CHECK(prefetch.take(esper::test::kPatience, [] { return true; })->number() == 8);  // it is there, so nothing waits
}

TEST_CASE("it can be destroyed at any moment: threads and items are gone, and nothing is being made") {
  enum class Moment { kIdle, kStarted, kMaking, kReady, kTaken, kFailed, kStopped, kThreadsEnded };
  constexpr int kThreads = 8;
  const auto threads_before = esper::test::num_threads();
  for (int round = 0; round < 200; ++round) {
    const auto moment = static_cast<Moment>(round % 8);
    CAPTURE(round);
    std::atomic<int> making{0}, begun{0};
    std::latch go_on(1);
    if (moment != Moment::kMaking) go_on.count_down();
    auto prefetch = std::make_unique<Prefetch<Item>>(kThreads, kThreads, [&](std::int64_t number) {
      struct Making {
        std::atomic<int>& count;
        explicit Making(std::atomic<int>& of) : count(of) { ++count; }
        ~Making() { --count; }
      } const counted(making);
      ++begun;
      go_on.wait();
      if (moment == Moment::kFailed && number % 2 == 1) throw std::runtime_error("odd");
      return Item(number);
    });
    REQUIRE(esper::test::num_threads() == threads_before + kThreads);
    std::optional<Item> taken;
    if (moment != Moment::kIdle) prefetch->start(round, kNoEnd);
    // Without REQUIRE: the destructor waits for threads that wait for go_on.
    if (moment == Moment::kMaking) CHECK(esper::test::comes_true([&] { return begun == kThreads; }));
    if (moment == Moment::kReady || moment == Moment::kStopped) {
      CHECK(esper::test::comes_true([] { return Item::alive >= kThreads; }));
    }
    if (moment == Moment::kTaken) taken = prefetch->take(esper::test::kPatience);
    if (moment == Moment::kStopped) prefetch->stop();
    if (moment == Moment::kThreadsEnded) prefetch->end_threads();
    // All threads are in the middle of an item: the destructor waits for them, and they for this.
    std::thread last([&] {
      if (moment == Moment::kMaking) go_on.count_down();
    });
    prefetch.reset();
    last.join();
    CHECK(making == 0);
    CHECK(Item::alive == (taken ? 1 : 0));
    CHECK(esper::test::comes_to_threads(threads_before));
  }
  CHECK(Item::alive == 0);
}

}  // namespace
}  // namespace esper::data::prefetch_test
