// How far the host gets ahead of a GPU, on a GPU that is played here: its pieces of work take the time that a test
// says.

#include "device/queued_work.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <map>
#include <memory>

namespace esper::device::queued_work_test {
namespace {

using namespace std::chrono_literals;

struct Card {
  double host_ms = 0;  // the host's time
  double ends_ms = 0;  // when the queue so far is done
  std::map<std::size_t, double> complete_ms;
  int records = 0, waits = 0;
  double waited_ms = 0;

  QueuedWork::Events events() {
    return {[this](std::size_t event) {
              ++records;
              complete_ms[event] = std::max(host_ms, ends_ms);
            },
            [this](std::size_t event) {
              ++waits;
              waited_ms += std::max(0.0, complete_ms.at(event) - host_ms);
              host_ms = std::max(host_ms, complete_ms.at(event));
            },
            [this](std::size_t from, std::size_t to) {
              CHECK(std::max(complete_ms.at(from), complete_ms.at(to)) <= host_ms);
              return complete_ms.at(to) - complete_ms.at(from);
            }};
  }
  void queue(double piece_ms, double takes_host_ms) {
    host_ms += takes_host_ms;
    ends_ms = std::max(host_ms, ends_ms) + piece_ms;
  }
  double queued_ms() const { return std::max(0.0, ends_ms - host_ms); }
};

// The most that was queued, in milliseconds, after any of the pieces.
double most_queued(Card& card, QueuedWork& queued, int pieces, double piece_ms, double host_ms) {
  double most = 0;
  for (int i = 0; i < pieces; ++i) {
    card.queue(piece_ms, host_ms);
    queued.add();
    most = std::max(most, card.queued_ms());
  }
  return most;
}

TEST_CASE("no more pieces are queued than may be: then the host waits for the oldest") {
  Card card;
  QueuedWork queued(3, {}, card.events());
  most_queued(card, queued, 3, 100, 0.01);
  CHECK(card.waits == 0);
  CHECK(most_queued(card, queued, 1, 100, 0.01) < 301);
  CHECK(card.waits == 1);
  CHECK(most_queued(card, queued, 40, 100, 0.01) < 301);
  CHECK(most_queued(card, queued, 40, 0.02, 0.01) < 301);
  CHECK(card.queued_ms() < 0.1);
}

TEST_CASE("with a span, too, no more long pieces are queued than may be, also after a wait for the whole queue") {
  Card card;
  QueuedWork queued(8, 50ms, card.events());
  for (int i = 0; i < 5; ++i) {
    CHECK(most_queued(card, queued, 100, 100, 0.05) < 801);
    card.host_ms = card.ends_ms;  // as at a look at the steps
  }
}

TEST_CASE("short pieces are queued for the span, and have few marks") {
  Card card;
  QueuedWork queued(8, 50ms, card.events());
  most_queued(card, queued, 20'000, 0.02, 0.005);
  const int records = card.records;
  const double most = most_queued(card, queued, 20'000, 0.02, 0.005);
  CHECK(most > 40);
  CHECK(most < 60);
  CHECK(card.records - records < 100);
}

TEST_CASE("where the card keeps up the host never waits once it has begun, and pieces of microseconds have few marks") {
  Card card;
  QueuedWork queued(8, 50ms, card.events());
  most_queued(card, queued, 10'000, 0.02, 0.03);
  CHECK(card.waited_ms == 0);
  CHECK(card.records < 200);
}

TEST_CASE("pieces that take longer than those before are fewer as soon as one mark of them is passed") {
  Card card;
  QueuedWork queued(8, 50ms, card.events());
  most_queued(card, queued, 20'000, 0.02, 0.005);
  const int waits = card.waits;
  constexpr int kMostPieces = 20'000;  // the span's short ones, and what comes until those are few
  for (int i = 0; i < kMostPieces && card.waits < waits + 20; ++i) most_queued(card, queued, 1, 10, 0.05);
  REQUIRE(card.waits == waits + 20);
  CHECK(most_queued(card, queued, 100, 10, 0.05) < 81);
}

TEST_CASE("on the CPU nothing is queued, and nothing is waited for") {
  QueuedWork queued(1, {}, c10::Device(c10::DeviceType::CPU));
  for (int i = 0; i < 10; ++i) CHECK_NOTHROW(queued.add());
}

}  // namespace
}  // namespace esper::device::queued_work_test
