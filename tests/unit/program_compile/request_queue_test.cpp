#include "program/compile/request_queue.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::program::request_queue_test {
namespace {

CompileRequest request_of(const std::string& key, CompileEffort effort = CompileEffort::kQuick) {
  CompileRequest request;
  request.key = key;
  request.effort = effort;
  request.recipe = "loops";
  return request;
}

}  // namespace

TEST_CASE("requests run in their order, and each outcome is taken once") {
  RequestQueue queue;
  CHECK_FALSE(queue.has_waiting());
  CHECK(queue.is_settled("a"));  // nobody asked for it
  queue.submit(request_of("a"));
  queue.submit(request_of("b"));
  CHECK(queue.pending() == 2);

  const auto first = queue.start_next();
  CHECK(first.key == "a");
  CHECK(queue.pending() == 2);
  CHECK_FALSE(queue.is_settled("a"));
  CHECK_FALSE(queue.is_settled("b"));
  queue.finish(outcome_of(first));
  CHECK(queue.pending() == 1);
  CHECK(queue.is_settled("a"));
  CHECK_FALSE(queue.take("b"));
  const auto done = queue.take("a");
  REQUIRE(done);
  CHECK_FALSE(done->failure);
  CHECK(done->recipe == "loops");
  CHECK_FALSE(queue.take("a"));
  CHECK(queue.start_next().key == "b");
}

TEST_CASE("what waits is cancelled at once, what runs is abandoned, and the next one is not") {
  RequestQueue queue;
  queue.submit(request_of("running"));
  for (const char* key : {"other", "waiting", "waiting"}) queue.submit(request_of(key, CompileEffort::kFull));
  const auto running = queue.start_next();
  queue.cancel("waiting");
  queue.cancel("unknown");
  CHECK(queue.pending() == 2);
  CHECK_FALSE(queue.is_abandoned());
  for (int i = 0; i < 2; ++i) {
    const auto cancelled = queue.take("waiting");
    REQUIRE(cancelled);
    CHECK(cancelled->failure == CompileFailure::kCancelled);
    CHECK(cancelled->effort == CompileEffort::kFull);
    CHECK(cancelled->reason == "cancelled before it started");
  }
  CHECK(queue.is_settled("waiting"));

  queue.cancel("running");
  CHECK(queue.is_abandoned());
  CHECK_FALSE(queue.is_settled("running"));
  queue.finish(failed_outcome(running, CompileFailure::kCancelled, "cancelled"));
  CHECK(queue.is_settled("running"));
  CHECK(queue.start_next().key == "other");
  CHECK_FALSE(queue.is_abandoned());
}

TEST_CASE("an outcome that nobody took before it was cancelled is not that of a later request") {
  RequestQueue queue;
  queue.submit(request_of("a"));
  queue.submit(request_of("b"));
  queue.finish(failed_outcome(queue.start_next(), CompileFailure::kTimeout, "the machine was busy"));
  queue.finish(outcome_of(queue.start_next()));
  queue.cancel("a");
  CHECK_FALSE(queue.take("a"));
  queue.submit(request_of("a"));
  CHECK_FALSE(queue.is_settled("a"));
  queue.finish(outcome_of(queue.start_next()));
  const auto again = queue.take("a");
  REQUIRE(again);
  CHECK_FALSE(again->failure);
  CHECK(queue.take("b"));
}

TEST_CASE("what comes of a request that was cancelled while it ran is cancelled, too") {
  RequestQueue queue;
  queue.submit(request_of("a"));
  const auto running = queue.start_next();
  queue.cancel("a");
  queue.finish(failed_outcome(running, CompileFailure::kTimeout, "the machine was busy"));
  queue.submit(request_of("a"));
  CHECK(queue.take("a")->failure == CompileFailure::kCancelled);
  queue.finish(outcome_of(queue.start_next()));
  CHECK_FALSE(queue.take("a")->failure);
}

TEST_CASE("of several outcomes of one key the oldest comes first, also while the key is compiled again") {
  RequestQueue queue;
  queue.submit(request_of("a"));
  queue.cancel("a");
  queue.submit(request_of("a"));
  CHECK(queue.is_settled("a"));
  const auto again = queue.start_next();
  CHECK(queue.take("a")->failure == CompileFailure::kCancelled);
  CHECK_FALSE(queue.is_settled("a"));
  queue.finish(outcome_of(again));
  CHECK_FALSE(queue.take("a")->failure);
}

}  // namespace esper::program::request_queue_test
