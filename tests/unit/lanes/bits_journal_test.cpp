#include "lanes/shape/bits_journal.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace esper::test::bits_journal_test {

using namespace esper::lanes;

namespace {

using Record = std::pair<std::int64_t, std::string>;  // step, key

StepTally ran(std::uint64_t bits, const std::string& key) {
  StepTally tally;
  tally.bits = bits;
  tally.key = key;
  return tally;
}

struct Written {
  explicit Written(LaneLog log = {})
      : journal(std::move(log), [this](const std::string& text) {
          const auto record = nlohmann::json::parse(text);
          CHECK(record["shape"] == "whole");
          records.emplace_back(record["step"].get<std::int64_t>(), record["key"].get<std::string>());
        }) {
    shape.name = "whole";
  }
  Written(const Written&) = delete;

  std::vector<Record> records;
  BitsJournal journal;
  StepShape shape;
};

const StepTally kEager = ran(0, ""), kCompiled = ran(1, "first"), kOther = ran(2, "second");

}  // namespace

TEST_CASE("after a return the bits of the next step are recorded, whether they changed or not") {
  Written it;
  it.journal.record(it.shape, kEager, 0);
  it.journal.record(it.shape, kCompiled, 123);
  it.journal.record(it.shape, kCompiled, 124);
  it.journal.rolled_back();
  it.shape.recorded = {};
  CHECK(it.journal.record(it.shape, kCompiled, 40));
  it.journal.record(it.shape, kCompiled, 41);
  CHECK(it.records == std::vector<Record>{{0, ""}, {123, "first"}, {40, "first"}});
}

TEST_CASE("steps that the run does not go on from leave no record, and what comes after them is compared with before") {
  Written it;
  it.journal.record(it.shape, kEager, 0);
  it.journal.record(it.shape, kCompiled, 123);
  {
    const BitsJournal::Pause pause(it.journal);
    CHECK_FALSE(it.journal.record(it.shape, kEager, 40));
    CHECK_FALSE(it.journal.record(it.shape, kOther, 41));
  }
  SECTION("the bits are as before") { CHECK_FALSE(it.journal.record(it.shape, kCompiled, 130)); }
  SECTION("the bits changed meanwhile") {
    CHECK(it.journal.record(it.shape, kOther, 130));
    CHECK(it.records.back() == Record{130, "second"});
    it.records.pop_back();
  }
  CHECK(it.records == std::vector<Record>{{0, ""}, {123, "first"}});
}

TEST_CASE("a structure change after a return is recorded for shapes that had no step since") {
  Written it;
  it.journal.record(it.shape, kCompiled, 123);
  it.journal.rolled_back();
  const auto stays = [](const std::string&, const std::string& key) { return key; };
  it.journal.record_all(45, stays);
  it.journal.record_all(46, stays);
  CHECK(it.records == std::vector<Record>{{123, "first"}, {45, "first"}});
}

TEST_CASE("a structure change is recorded although records are left of a shape that never comes") {
  const auto becomes_eager = [](const std::string&, const std::string&) { return std::string(); };
  LaneLog log;
  log.add("foreign", {0, ""});
  SECTION("the shape has no record to repeat") {
    Written it(std::move(log));
    it.journal.record(it.shape, kCompiled, 3);
    it.journal.record_all(7, becomes_eager);
    CHECK(it.records == std::vector<Record>{{3, "first"}, {7, ""}});
  }
  SECTION("its record of the change is to be repeated") {
    log.add("whole", {3, "first"});
    log.add("whole", {7, "second"});
    Written it(std::move(log));
    it.journal.restore(it.shape, 3);
    it.journal.repeat(it.shape, kCompiled);
    it.journal.record_all(7, becomes_eager);
    CHECK(it.records.empty());
    CHECK(it.journal.repeat(it.shape, kOther));
  }
}

}  // namespace esper::test::bits_journal_test
