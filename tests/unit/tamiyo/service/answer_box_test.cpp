#include "tamiyo/service/answer_box.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <thread>

namespace esper::tamiyo::answer_box_test {
namespace {

using std::chrono::milliseconds;

Answer answer_with(const std::string& reason) { return {Answer::Kind::kDecided, {{}, reason}, {}, 0}; }

struct TimedBox {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>();
  base::Clock clock{time};
  AnswerBox box;
  std::optional<Answer> wait(base::Duration length) { return box.wait_until(clock, clock.now() + length); }
};

}  // namespace

TEST_CASE("an answer that comes twice is taken once") {
  TimedBox it;
  const auto number = it.box.open();
  REQUIRE(number == 1U);
  CHECK(!it.box.open());
  CHECK(it.box.put(1, answer_with("first")) == Arrival::kTaken);
  CHECK(it.box.put(1, answer_with("second")) == Arrival::kDuplicate);
  const auto answer = it.wait(milliseconds(10));
  REQUIRE(answer);
  CHECK(answer->decision.reason == "first");
  CHECK(it.box.open() == 2U);
  CHECK(it.box.put(1, answer_with("once more")) == Arrival::kDuplicate);
  CHECK(it.box.figures().duplicate == 2);
}

TEST_CASE("a late answer is dropped and counted, and no question is asked before it came") {
  TimedBox it;
  REQUIRE(it.box.open());
  const auto deadline = it.clock.now() + milliseconds(20);
  std::thread mover([&] { it.time->advance(milliseconds(50)); });
  CHECK_FALSE(it.box.wait_until(it.clock, deadline));
  mover.join();
  CHECK_FALSE(it.box.open());
  CHECK(it.box.put(1, answer_with("late")) == Arrival::kLate);
  CHECK(it.box.figures().late == 1);
  CHECK(it.box.open() == 2U);
  CHECK(it.box.put(2, answer_with("in time")) == Arrival::kTaken);
  CHECK(it.wait(milliseconds(1))->decision.reason == "in time");
}

TEST_CASE("an answer to a question that nobody asked is dropped") {
  TimedBox it;
  CHECK(it.box.put(0, answer_with("?")) == Arrival::kUnasked);
  CHECK(it.box.put(1, answer_with("?")) == Arrival::kUnasked);
  REQUIRE(it.box.open());
  CHECK(it.box.put(2, answer_with("?")) == Arrival::kUnasked);
  CHECK(it.box.figures().unasked == 3);
  CHECK(!it.box.open());
}

}  // namespace esper::tamiyo::answer_box_test
