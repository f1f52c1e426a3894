#include "lanes/shape/bits_journal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
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
          if (record.value("trial", false)) on_trial.push_back(records.back().first);
          then.push_back(record.value("then", ""));
          stages.push_back(record.value("stage", ""));
          if (record.contains("count")) stages.back() += " " + record["count"].dump();
        }) {
    shape.name = "whole";
  }
  Written(const Written&) = delete;

  std::vector<Record> records;
  std::vector<std::int64_t> on_trial;     // steps of the records that are of a trial
  std::vector<std::string> then, stages;  // LaneRecord::then and progress of each
  BitsJournal journal;
  StepShape shape;
};

const StepTally kEager = ran(0, ""), kCompiled = ran(1, "first"), kOther = ran(2, "second");

Lane lane_of(const StepTally& tally) { return {config::Lane::kCompiled, {}, {nullptr, tally.key, tally.bits}}; }

}  // namespace

TEST_CASE("a compiled program's turns in a trial are recorded as such, and its adoption although the bits stay") {
  Written it;
  it.journal.record(it.shape, kEager, 0);
  CHECK(it.journal.record(it.shape, kCompiled, 23));
  CHECK_FALSE(it.journal.record(it.shape, kCompiled, 24));
  it.journal.record(it.shape, kEager, 43);
  it.journal.record(it.shape, kCompiled, 63);
  it.shape.incumbent = lane_of(kCompiled);
  CHECK(it.journal.record(it.shape, kCompiled, 82));
  CHECK_FALSE(it.journal.record(it.shape, kCompiled, 83));
  it.journal.record(it.shape, kOther, 90);
  it.journal.record(it.shape, kCompiled, 110);
  CHECK(it.records ==
        std::vector<Record>{
            {0, ""}, {23, "first"}, {43, ""}, {63, "first"}, {82, "first"}, {90, "second"}, {110, "first"}});
  CHECK(it.on_trial == std::vector<std::int64_t>{23, 63, 90});
}

TEST_CASE("where a record cannot be repeated the step that ran instead is recorded, also in eager's bits") {
  LaneLog log;
  for (const LaneRecord& record : {LaneRecord{0, ""}, LaneRecord{7, "first"}}) log.add("whole", record);
  Written it(log);
  it.journal.restore(it.shape, 5);
  it.journal.repeat(it.shape, kEager, 5);
  REQUIRE(it.journal.follows(it.shape, 7));
  it.journal.give_up(it.shape);
  CHECK_FALSE(it.journal.follows(it.shape, 7));
  it.journal.record(it.shape, kEager, 7);
  it.journal.record(it.shape, kEager, 8);
  CHECK(it.records == std::vector<Record>{{7, ""}});
}

TEST_CASE("a comparison's step is recorded together with the program that agreed in it and has the next one") {
  Written it;
  it.shape.incumbent = lane_of(kCompiled);
  it.journal.record(it.shape, kCompiled, 23);
  it.journal.record_comparison(it.shape, kEager, 30);
  CHECK_FALSE(it.journal.record(it.shape, kCompiled, 33));
  CHECK(it.records == std::vector<Record>{{23, "first"}, {30, ""}});
  CHECK(it.then == std::vector<std::string>{"", "first"});
  CHECK(it.on_trial.empty());
  SECTION("where eager runs that one after all, it is recorded") {
    it.journal.record_comparison(it.shape, kEager, 40);
    it.journal.record(it.shape, kEager, 41);
    CHECK(it.records.back() == Record{41, ""});
  }
  SECTION("also after comparisons that decided nothing") {
    it.journal.record(it.shape, kEager, 40);
    it.journal.record_comparison(it.shape, kEager, 41);
    CHECK(it.records.back() == Record{41, ""});
    CHECK(it.then.back() == "first");
  }
}

TEST_CASE("how near a shape in eager is to a program is recorded where it changes, and ends with the structure") {
  Written it;
  it.journal.record(it.shape, kEager, 0);
  it.journal.record(it.shape, kEager, 1, {LaneStage::kWarmingUp, 1});
  it.journal.record(it.shape, kEager, 2, {LaneStage::kWarmingUp});
  it.journal.record(it.shape, kEager, 3, {LaneStage::kComparing});
  it.journal.record(it.shape, kEager, 4, {LaneStage::kComparing});
  CHECK(it.records == std::vector<Record>{{0, ""}, {1, ""}, {2, ""}, {3, ""}});
  const auto stays = [](const std::string&, const std::string& key) { return key; };
  it.journal.record_all(5, stays);
  it.journal.record_all(6, stays);
  CHECK(it.records == std::vector<Record>{{0, ""}, {1, ""}, {2, ""}, {3, ""}, {5, ""}});
  CHECK(it.stages == std::vector<std::string>{"", "warming_up 1", "warming_up", "comparing", ""});
}

TEST_CASE("a comparison that decided nothing is recorded with the program, which the next structure goes on in") {
  Written it;
  it.shape.incumbent = lane_of(kCompiled);
  it.journal.record(it.shape, kCompiled, 23);
  it.journal.record_comparison(it.shape, kEager, 30, {LaneStage::kComparing, 1});
  CHECK(it.records == std::vector<Record>{{23, "first"}, {30, ""}});
  CHECK(it.then.back() == "first");
  CHECK(it.stages.back() == "comparing 1");
  it.journal.record_all(31, [](const std::string&, const std::string& key) { return key; });
  CHECK(it.records.back() == Record{31, "first"});  // not to be compared there
  CHECK(it.stages.back().empty());

  LaneLog log;
  log.add("whole", {.step = 30, .key = "", .then = "first", .progress = {LaneStage::kComparing, 1}});
  Written resumed(std::move(log));
  CHECK(resumed.journal.at(resumed.shape, 30)->key.empty());
  CHECK(resumed.journal.at(resumed.shape, 33) ==
        LaneRecord{.step = 31, .key = "first", .progress = {LaneStage::kComparing, 1}});
  CHECK(resumed.journal.end_structure(31));
}

TEST_CASE("progress that was repeated ends with the structure, too") {
  LaneLog log;
  log.add("whole", {.step = 0});
  log.add("whole", {.step = 1, .progress = {LaneStage::kComparing}});
  Written it(std::move(log));
  it.journal.restore(it.shape, 0);
  it.journal.repeat(it.shape, kEager, 0);
  it.journal.repeat(it.shape, kEager, 1);
  CHECK(it.shape.recorded.progress.stage == LaneStage::kComparing);
  it.journal.forget(it.shape);
  it.journal.record_all(2, [](const std::string&, const std::string& key) { return key; });
  CHECK(it.records == std::vector<Record>{{2, ""}});
}

TEST_CASE("a comparison's record is followed by eager's step and the program's") {
  LaneLog log;
  log.add("whole", {.step = 30, .key = "", .then = "first"});
  Written it(std::move(log));
  CHECK(it.journal.at(it.shape, 30)->key.empty());
  CHECK_FALSE(it.journal.is_done(it.shape, 30));
  CHECK(it.journal.at(it.shape, 33)->key == "first");
  CHECK(it.journal.at(it.shape, 33)->step == 31);
  CHECK(it.journal.is_done(it.shape, 31));
  CHECK(it.journal.restore(it.shape, 40) == 31);
}

TEST_CASE("what was recorded of a shape before the structure changed is not repeated after it") {
  const auto now = [](const std::string& shape, const std::string& key) {
    CHECK(shape == "whole");
    CHECK(key == "first");
    return kOther.key;
  };
  LaneLog log;
  SECTION("a program") { log.add("whole", {23, "first"}); }
  SECTION("a comparison and the program, which would have the next step") {
    log.add("whole", {.step = 30, .key = "", .then = "first"});
  }
  const bool goes_on = GENERATE(false, true);
  if (goes_on) log.add("whole", {31, "second"});
  Written it(std::move(log));
  it.journal.end_structure(31);  // the shape had no step since the run was resumed
  it.journal.record_all(31, now);
  CHECK(it.journal.follows(it.shape, 31) == goes_on);
  CHECK(it.records == (goes_on ? std::vector<Record>{} : std::vector<Record>{{31, "second"}}));
}

TEST_CASE("an adoption among steps that leave no record is recorded with the next step") {
  Written it;
  it.journal.record(it.shape, kCompiled, 23);
  {
    const BitsJournal::Pause pause(it.journal);
    it.shape.incumbent = lane_of(kCompiled);
    it.journal.record(it.shape, kCompiled, 24);
  }
  CHECK(it.shape.recorded.bits != kCompiled.bits);  // so the next step asks the journal
  CHECK(it.journal.record(it.shape, kCompiled, 24));
  CHECK(it.records == std::vector<Record>{{23, "first"}, {24, "first"}});
  CHECK(it.on_trial == std::vector<std::int64_t>{23});
}

TEST_CASE("a package of the incumbent's key in its other effort is not on trial: records do not distinguish them") {
  Written it;
  it.shape.incumbent = lane_of(kCompiled);
  it.journal.record(it.shape, kCompiled, 23);
  it.journal.record(it.shape, ran(3, kCompiled.key), 40);
  CHECK(it.records == std::vector<Record>{{23, "first"}});
  CHECK(it.on_trial.empty());
}

TEST_CASE("a repeated adoption is a change, as it was when it was recorded") {
  LaneLog log;
  log.add("whole", {23, "first", true});
  log.add("whole", {42, "first"});
  Written it(std::move(log));
  it.journal.restore(it.shape, 30);
  CHECK_FALSE(it.journal.repeat(it.shape, kCompiled, 30));
  CHECK_FALSE(it.journal.repeat(it.shape, kCompiled, 41));
  CHECK(it.journal.repeat(it.shape, kCompiled, 42));
  CHECK(it.records.empty());
}

TEST_CASE("a turn of a trial that the records leave open is not followed in the structure after it") {
  LaneLog log;
  log.add("whole", {23, "first", true});
  SECTION("the records end with it") {
    Written it(std::move(log));
    CHECK(it.journal.restore(it.shape, 30) == 23);
    CHECK(it.journal.follows(it.shape, 30));
    StepShape next;
    next.name = it.shape.name;
    CHECK(it.journal.restore(next, 35) == 35);
    CHECK_FALSE(it.journal.follows(next, 35));
  }
  SECTION("they have what comes after it") {
    log.add("whole", {35, "second"});
    Written it(std::move(log));
    it.journal.restore(it.shape, 30);
    StepShape next;
    next.name = it.shape.name;
    it.journal.restore(next, 35);
    CHECK(it.journal.follows(next, 35));
  }
}

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

TEST_CASE("a program that was on trial and is installed without one is recorded at the structure change") {
  Written it;
  it.journal.record(it.shape, kCompiled, 23);
  const auto installed = [](const std::string&, const std::string& key) { return key; };
  it.journal.record_all(30, installed);
  it.journal.record_all(31, installed);
  CHECK(it.records == std::vector<Record>{{23, "first"}, {30, "first"}});
  CHECK(it.on_trial == std::vector<std::int64_t>{23});
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
    it.journal.repeat(it.shape, kCompiled, 3);
    it.journal.record_all(7, becomes_eager);
    CHECK(it.records.empty());
    CHECK(it.journal.repeat(it.shape, kOther, 7));
  }
}

}  // namespace esper::test::bits_journal_test
