#include "base/ledger/chrome_trace.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/ledger/span_log.h"
#include "support/trace_check.h"

namespace esper::base::chrome_trace_test {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

struct Traced {
  std::shared_ptr<ManualTime> time = std::make_shared<ManualTime>();
  Ledger ledger{Clock(time)};
  std::int64_t steps = 0;

  Traced() { ledger.watch().keep_spans(); }
  void step() {
    {
      const LedgerScope waiting(ledger, Owner::kLoaderWait);
      time->advance(microseconds(3));
    }
    LedgerStep step(ledger);
    time->advance(microseconds(10));
    step.end(++steps);
  }
  void epoch(int number, int num_steps) {
    const LedgerEpoch epoch(ledger, number);
    const LedgerScope computing(ledger, Owner::kCompute);
    for (int i = 0; i < num_steps; ++i) step();
  }
  json written() {
    ledger.settle();
    return json::parse(chrome_trace(ledger, "a \"run\"\n"));
  }
};

}  // namespace

TEST_CASE("a trace has epochs, steps, owners, events and figures, each at its time") {
  Traced t;
  t.time->advance(microseconds(100));
  t.ledger.start_up_is_over();
  t.epoch(1, 2);
  t.ledger.watch().spans()->marks.add({t.ledger.now(), "seed_stage", {{"reason", "\"G1\" \\ \x80"}}, {}});
  t.ledger.watch().spans()->marks.add({t.ledger.now(), "training loss", {}, 0.25});
  const json trace = t.written();
  esper::test::check_trace(trace);
  CHECK(trace["otherData"]["run"] == "a \"run\"\n");
  CHECK(trace["otherData"]["dropped_spans"] == "0");
  const auto named = [&](const std::string& name) {
    std::vector<json> found;
    for (const auto& event : trace["traceEvents"]) {
      if (event["name"] == name) found.push_back(event);
    }
    return found;
  };
  REQUIRE(named("start_up").size() == 1);
  CHECK(named("start_up")[0]["dur"] == 100.0);
  REQUIRE(named("epoch").size() == 1);
  CHECK(named("epoch")[0]["ts"] == 100.0);
  CHECK(named("epoch")[0]["dur"] == 26.0);
  CHECK(named("epoch")[0]["args"]["epoch"] == 1);
  CHECK(named("compute").size() == 1);
  REQUIRE(named("loader_wait").size() == 2);
  CHECK(named("loader_wait")[1]["ts"] == 113.0);
  CHECK(named("loader_wait")[1]["dur"] == 3.0);
  REQUIRE(named("step").size() == 2);
  CHECK(named("step")[1]["ts"] == 116.0);
  CHECK(named("step")[1]["args"]["step"] == 2);
  CHECK(named("seed_stage")[0]["ph"] == "i");
  CHECK(named("seed_stage")[0]["args"]["reason"].get<std::string>().starts_with("\"G1\" \\ "));
  CHECK(named("training loss")[0]["args"]["value"] == 0.25);
}

TEST_CASE("a trace keeps the newest spans and says how many it dropped") {
  Traced t;
  t.ledger.start_up_is_over();
  constexpr int kSteps = 60'000;  // two spans each
  t.epoch(1, kSteps);
  const json trace = t.written();
  esper::test::check_trace(trace);
  const auto all = 2 * kSteps + 2;
  CHECK(trace["otherData"]["dropped_spans"] == std::to_string(all - static_cast<int>(SpanLog::kSpans)));
  CHECK(trace["traceEvents"].back()["args"]["step"] == kSteps);
}

TEST_CASE("without keep_spans nothing is kept") {
  Ledger ledger;
  {
    const LedgerScope computing(ledger, Owner::kCompute);
  }
  CHECK(ledger.watch().spans() == nullptr);
}

}  // namespace esper::base::chrome_trace_test
