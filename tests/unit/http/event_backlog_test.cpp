#include "http/event_backlog.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::event_backlog_test {

using namespace esper;

namespace {

http::Limits limits() {
  http::Limits limits;
  limits.waiting_event_bytes = 4;
  limits.burst_event_bytes = 10;
  return limits;
}

}  // namespace

TEST_CASE("all of a turn may wait, up to the limit of a burst") {
  http::EventBacklog backlog(limits());
  CHECK(backlog.is_empty());
  CHECK(backlog.add("12345", 1));
  CHECK(backlog.add("67890", 1));
  CHECK_FALSE(backlog.add("x", 1));
  CHECK(backlog.take() == "1234567890");
  CHECK(backlog.is_empty());
  CHECK(backlog.add("x", 1));
}

TEST_CASE("where too much is left when the next turn adds to it, its client does not read") {
  http::EventBacklog backlog(limits());
  CHECK(backlog.add("1234", 1));
  CHECK(backlog.add("5", 2));
  CHECK_FALSE(backlog.add("6", 3));
  CHECK_FALSE(backlog.add("6", 3));
  backlog.take();
  CHECK(backlog.add("6", 4));
}

}  // namespace esper::test::event_backlog_test
