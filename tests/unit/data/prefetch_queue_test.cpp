#include "data/loading/prefetch_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>

namespace esper::data::prefetch_queue_test {
namespace {

using Queue = PrefetchQueue<std::string>;

Queue::Made made(const Queue::Claim& claim) { return {std::to_string(claim.number), nullptr}; }

TEST_CASE("as many items are claimed as there are slots, below the end, and given in order whoever is done first") {
  Queue queue(2);
  CHECK_FALSE(queue.has_work());
  queue.start(7, 10);
  const auto first = queue.claim(), second = queue.claim();
  CHECK_FALSE(queue.has_work());
  CHECK(queue.put(second, made(second)));
  CHECK_FALSE(queue.next().is_ready());
  CHECK(queue.put(first, made(first)));
  CHECK(queue.gives(7));
  CHECK(queue.take() == "7");
  const auto third = queue.claim();
  CHECK(queue.take() == "8");
  CHECK(third.number == 9);
  CHECK_FALSE(queue.has_work());
  CHECK(queue.gives(9));
  CHECK_FALSE(queue.gives(10));
}

TEST_CASE("an item that was claimed before a start or a stop is not wanted, and neither is what lay ready") {
  Queue queue(1);
  queue.start(0, 100);
  const auto old = queue.claim();
  CHECK(queue.put(old, made(old)));
  queue.start(50, 100);
  CHECK_FALSE(queue.next().is_ready());
  CHECK_FALSE(queue.put(old, made(old)));
  const auto stopped = queue.claim();
  CHECK(stopped.number == 50);
  queue.stop();
  CHECK_FALSE(queue.put(stopped, made(stopped)));
  CHECK_FALSE(queue.is_running());
  CHECK_FALSE(queue.gives(50));
}

TEST_CASE("a failure is given in the place of its item, again until the next start") {
  Queue queue(1);
  queue.start(3, 100);
  CHECK(queue.put(queue.claim(), {{}, std::make_exception_ptr(std::runtime_error("number 3"))}));
  CHECK(queue.next().is_ready());
  CHECK_FALSE(queue.gives(3));
  for (int again = 0; again < 2; ++again) CHECK_THROWS_AS(queue.take(), std::runtime_error);
  queue.start(3, 100);
  CHECK(queue.gives(3));
}

}  // namespace
}  // namespace esper::data::prefetch_queue_test
