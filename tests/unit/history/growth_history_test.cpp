#include "history/growth/growth_history.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "leyline/seed_id.h"

namespace esper::test::growth_history_test {

using namespace esper::history;
using namespace esper::leyline;
using nlohmann::json;
using Kind = Agreement::Kind;

namespace {

// Writes the records of a run as the run itself would.
struct Journal {
  Topology now{{{"r0c0", Stage::kDormant, "", ""}, {"r0c1", Stage::kTerminated, "", ""}}, 0};
  std::vector<std::string> records;

  void snapshot(const std::string& what, RunPlace place) {
    GrowthRecord record;
    record.what = what;
    record.place = place;
    record.snapshot = now;
    records.push_back(growth_record_json(record).dump());
  }
  void stage(RunPlace place, Stage from, Stage to, const std::string& seed = "seed-0001") {
    GrowthRecord record;
    record.what = "stage";
    record.place = place;
    record.event = GrowthEvent{.seed_id = seed, .slot = "r0c0", .blueprint = "mlp", .from = from, .to = to};
    apply(now, {"r0c0", seed, "mlp", from, to});
    record.hash = topology_hash(now);
    records.push_back(growth_record_json(record).dump());
  }
  void checkpoint(RunPlace place) {
    records.push_back(json{{"what", "checkpoint"},
                           {"name", "c"},
                           {"epoch", place.epoch},
                           {"step", place.step},
                           {"topology", topology_hash(now)}}
                          .dump());
  }
  GrowthHistory read() const {
    GrowthHistory history;
    for (const auto& record : records) history.take(record);
    return history;
  }
};

Journal life() {
  Journal journal;
  journal.snapshot("started", {0, 0});
  journal.stage({1, 8}, Stage::kDormant, Stage::kGerminated);
  journal.checkpoint({1, 8});
  journal.stage({2, 16}, Stage::kGerminated, Stage::kTraining);
  journal.checkpoint({2, 20});
  journal.stage({3, 24}, Stage::kTraining, Stage::kCulled);
  journal.stage({4, 32}, Stage::kCulled, Stage::kEmbargoed, "");
  return journal;
}

}  // namespace

TEST_CASE("a topology's hash follows from what it says, and only from that") {
  const Topology topology{{{"r0c0", Stage::kTraining, "seed-0001", "mlp"}}, 1};
  CHECK(topology_hash(topology) == topology_hash(read_topology(json::parse(topology_json(topology).dump()))));
  // The form is for ever: journals hold these hashes.
  CHECK(topology_json(topology).dump() ==
        R"({"seeds_born":1,"slots":[{"blueprint":"mlp","id":"r0c0","seed":"seed-0001","stage":"TRAINING"}]})");
  auto other = topology;
  other.slots[0].stage = Stage::kBlending;
  CHECK(topology_hash(other) != topology_hash(topology));
  other = topology;
  other.seeds_born = 2;
  CHECK(topology_hash(other) != topology_hash(topology));
  CHECK(differences(topology, topology).empty());
  CHECK(differences(topology, other) == std::vector<std::string>{"seeds born: 1 -> 2"});
}

TEST_CASE("a fossil that was folded into the host is told, hashed and rebuilt") {
  Journal journal;
  journal.snapshot("started", {0, 0});
  journal.stage({1, 8}, Stage::kDormant, Stage::kGerminated);
  journal.stage({2, 16}, Stage::kGerminated, Stage::kFossilized);
  const auto unfolded = journal.now;
  GrowthRecord record;
  record.what = "fold";
  record.place = {2, 16};
  record.event = GrowthEvent{.seed_id = "seed-0001",
                             .slot = "r0c0",
                             .blueprint = "mlp",
                             .from = Stage::kFossilized,
                             .to = Stage::kFossilized,
                             .passed = true,
                             .carried = 4,
                             .dropped = {"seed-0001.weight"},
                             .transformed = {"host.block1.linear.weight"},
                             .reset = {"host.head.weight"},
                             .copied = {"seed-0002.norm1.weight"}};
  CHECK(apply_fold(journal.now, "r0c0", "seed-0001").empty());
  record.hash = topology_hash(journal.now);
  journal.records.push_back(growth_record_json(record).dump());
  journal.checkpoint({2, 16});
  CHECK(topology_hash(journal.now) != topology_hash(unfolded));
  CHECK(describe(journal.now.slots[0]) == "FOSSILIZED seed-0001 mlp, folded");
  CHECK(read_topology(json::parse(topology_json(journal.now).dump())) == journal.now);
  const auto history = journal.read();
  REQUIRE(history.damaged() == 0);
  CHECK(history.records().at(3).event->dropped == std::vector<std::string>{"seed-0001.weight"});
  CHECK(history.records().at(3).event->carried == 4);
  CHECK(history.records().at(3).event->transformed == std::vector<std::string>{"host.block1.linear.weight"});
  CHECK(history.records().at(3).event->reset == std::vector<std::string>{"host.head.weight"});
  CHECK(history.records().at(3).event->copied == std::vector<std::string>{"seed-0002.norm1.weight"});
  CHECK(history.replay().topology == journal.now);
  CHECK(history.replay().doubt.empty());
  CHECK(compare(history, {2, 16}, journal.now).kind == Kind::kAgrees);
  CHECK(compare(history, {2, 16}, unfolded).kind == Kind::kDiffers);
  // One that was kept as it is changes nothing; a second fold does not follow.
  auto again = journal.now;
  CHECK(apply_fold(again, "r0c0", "seed-0001") == "r0c0 is FOSSILIZED seed-0001 mlp, folded, not the fossil seed-0001");
  CHECK(apply_fold(again, "r0c5", "seed-0001") == "there is no slot r0c5");
}

TEST_CASE("a change that does not follow is applied and told") {
  Topology topology{{{"r0c0", Stage::kTraining, "seed-0001", "mlp"}}, 1};
  CHECK(apply(topology, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending}).empty());
  CHECK(apply(topology, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending}) ==
        "r0c0 is BLENDING seed-0001 mlp, not TRAINING");
  CHECK(apply(topology, {"r0c0", "seed-0002", "mlp", Stage::kBlending, Stage::kShadowing}) ==
        "r0c0 holds seed-0001, not seed-0002");
  CHECK(describe(topology.slots[0]) == "SHADOWING seed-0002 mlp");
}

TEST_CASE("every place of a run is rebuilt from its journal") {
  const auto journal = life();
  const auto history = journal.read();
  CHECK(history.damaged() == 0);
  CHECK(history.replay().topology == journal.now);
  CHECK(history.replay().doubt.empty());
  const auto at = [&](RunPlace place) { return describe(history.replay(place).topology.slots.at(0)); };
  CHECK(at({0, 0}) == "DORMANT");
  CHECK(at({0, 8}) == "DORMANT");  // saved within the epoch's last step, before the epoch ended
  CHECK(at({1, 8}) == "GERMINATED seed-0001 mlp");
  CHECK(at({2, 20}) == "TRAINING seed-0001 mlp");
  CHECK(at({3, 30}) == "CULLED");
  CHECK(history.replay().topology.seeds_born == 1);
  CHECK(history.place_at(23) == RunPlace{2, 20});
  CHECK_FALSE(history.place_at(-1));
}

TEST_CASE("a resumed run takes back what came after its checkpoint") {
  auto journal = life();
  journal.now = life().read().replay(RunPlace{2, 20}).topology;
  journal.snapshot("resumed", {2, 20});
  journal.stage({3, 24}, Stage::kTraining, Stage::kBlending);
  const auto history = journal.read();
  CHECK(history.discarded() == 2);
  CHECK(history.replay().doubt.empty());
  CHECK(describe(history.replay().topology.slots[0]) == "BLENDING seed-0001 mlp");
  CHECK(history.replay().topology == journal.now);
}

TEST_CASE("a lost record is found where it is missed, and a later one heals what it can") {
  auto journal = life();
  journal.records.erase(journal.records.begin() + 3);  // GERMINATED -> TRAINING
  const auto history = journal.read();
  CHECK(history.replay(RunPlace{2, 20}).doubt.starts_with("records are missing before step 20"));
  CHECK(history.replay().doubt.empty());  // the cull says what is there now
  const auto gaps = history.replay().gaps;
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].after == 3);
  CHECK(gaps[0].before == 4);
  CHECK(gaps[0].sound_from == 5);
  CHECK(
      describe(gaps[0]).starts_with("records are missing before step 20 (between record 3 of the journal, of epoch 1, "
                                    "step 8, and record 4): the recorded topology hash is "));
  CHECK(compare(history, {2, 20}, life().read().replay(RunPlace{2, 20}).topology).kind == Kind::kUnknown);
}

TEST_CASE("a checkpoint agrees with the journal, differs from it, or cannot be judged") {
  const auto history = life().read();
  const auto right = history.replay(RunPlace{2, 20}).topology;
  CHECK(compare(history, {2, 20}, right).kind == Kind::kAgrees);
  auto wrong = right;
  wrong.slots[0] = {"r0c0", Stage::kBlending, "seed-0001", "norm"};
  const auto differs = compare(history, {2, 20}, wrong);
  CHECK(differs.kind == Kind::kDiffers);
  CHECK(differs.text == "r0c0: TRAINING seed-0001 mlp -> BLENDING seed-0001 norm");
  // No record of that checkpoint: the journal may have lost its end.
  CHECK(compare(history, {2, 23}, wrong).kind == Kind::kUnknown);
  CHECK(compare(GrowthHistory(), {2, 20}, right).kind == Kind::kUnknown);
}

TEST_CASE("a fork's records follow on those of its parent up to where it left it, without the seeds that it left out") {
  GrowthRecord forked;
  forked.what = "forked";
  forked.place = {2, 20};
  forked.parent = "runs/a";
  forked.without = {"seed-0001"};
  forked.snapshot = Topology{{{"r0c0", Stage::kDormant, "", ""}, {"r0c1", Stage::kTerminated, "", ""}}, 1};
  GrowthHistory fork;
  fork.take(growth_record_json(forked).dump());
  fork.begin_with(life().read(), forked.place);
  REQUIRE(fork.records().size() == 6);  // all of the parent but what came after step 20
  CHECK(fork.records().back().what == "forked");
  CHECK(fork.replay().gaps.empty());
  CHECK(fork.replay().topology == *forked.snapshot);
  CHECK(describe(fork.replay(RunPlace{2, 16}).topology.slots[0]) == "TRAINING seed-0001 mlp");
}

TEST_CASE("a slot that a fork freed is as the fork's own topology has it") {
  GrowthRecord forked;
  forked.what = "forked";
  forked.place = {2, 20};
  forked.without = {"seed-0001"};
  forked.snapshot = Topology{{{"r0c0", Stage::kTerminated, "", ""}, {"r0c1", Stage::kTerminated, "", ""}}, 1};
  GrowthHistory fork;
  fork.take(growth_record_json(forked).dump());
  REQUIRE(fork.begin_with(life().read(), forked.place));
  CHECK(fork.replay().gaps.empty());
  // A module there is none that the fork could have put there: it is a difference.
  forked.snapshot->slots[0] = {"r0c0", Stage::kTraining, "seed-0002", "mlp"};
  GrowthHistory other;
  other.take(growth_record_json(forked).dump());
  REQUIRE(other.begin_with(life().read(), forked.place));
  CHECK(other.replay().gaps.size() == 1);
}

TEST_CASE("a fork and its parent together keep to the limits of one history") {
  const auto records = [](std::size_t count) {
    GrowthHistory history;
    for (std::size_t i = 0; i < count; ++i) history.take(R"({"what":"checkpoint","epoch":1,"step":8})");
    return history;
  };
  const auto parent = records(GrowthHistory::kMostRecords - 2);
  auto fork = records(3);
  CHECK_FALSE(fork.begin_with(parent, {1, 8}));
  CHECK(fork.records().size() == 3);
  CHECK(fork.begin_with(parent, {1, 7}));  // none of them is of before the fork
}

TEST_CASE("only the id that a number gives has that number") {
  CHECK(number_of_seed("seed-0007") == 7);
  CHECK(number_of_seed(seed_id_of(12345)) == 12345);
  CHECK(number_of_seed(seed_id_of(4294967295)) == 4294967295);
  for (const auto* text : {"", "seed-", "seed-7", "seed-00007", "seed-0007x", "seed- 007", "seed--007", "seed-+007",
                           "seed-4294967296", "Seed-0007", " seed-0007"}) {
    CAPTURE(text);
    CHECK(number_of_seed(text) == 0);
  }
}

TEST_CASE("records are numbered as they lie in the journal, damaged ones and those of other rooms too") {
  auto journal = life();
  journal.records.insert(journal.records.begin() + 1, {"{", R"({"what":"lane","step":1})"});
  const auto history = journal.read();
  CHECK(history.num_records() == 9);
  CHECK(history.damaged_records() == std::vector<std::size_t>{2});
  CHECK(history.records().at(0).number == 1);
  CHECK(history.records().at(1).number == 4);
}

TEST_CASE("journals of before topologies were told stay readable") {
  GrowthHistory history;
  history.take(R"({"what":"started","epoch":0,"step":0})");
  history.take(R"({"what":"gate","epoch":1,"step":8,"seed_id":"seed-0001","slot":"r0c1","blueprint":"mlp",)"
               R"("from":"DORMANT","to":"GERMINATED","command_id":"c1","reason":"fine"})");
  history.take(R"({"what":"stage","epoch":1,"step":8,"seed_id":"seed-0001","slot":"r0c1","blueprint":"mlp",)"
               R"("from":"DORMANT","to":"GERMINATED","command_id":"c1","reason":"fine"})");
  history.take(R"({"what":"checkpoint","name":"epoch-0001-step-000000008","step":8,"epoch":1,"bytes":5,"best":true})");
  CHECK(history.damaged() == 0);
  REQUIRE(history.records().size() == 4);
  const auto state = history.replay();
  CHECK_FALSE(state.starts_known);
  CHECK(state.doubt.empty());
  CHECK(describe(state.topology.slots.at(0)) == "GERMINATED seed-0001 mlp");
  CHECK(compare(history, {1, 8}, {}).kind == Kind::kUnknown);
}

TEST_CASE("what is no sound record is counted and costs nothing else") {
  auto journal = life();
  const std::string deep(2000, '[');
  const std::vector<std::string> bad = {
      "",
      "{",
      "null",
      "[]",
      "{}",
      deep,
      R"({"what":5})",
      R"({"what":"stage"})",
      R"({"what":"stage","epoch":-1,"step":0,"from":"DORMANT","to":"DORMANT"})",
      R"({"what":"stage","epoch":1,"step":0,"from":"NOWHERE","to":"DORMANT"})",
      R"({"what":"stage","epoch":1,"step":0,"from":"DORMANT","to":"DORMANT","slot":7})",
      R"({"what":"stage","epoch":99999999999,"step":0,"from":"DORMANT","to":"DORMANT"})",
      R"({"what":"stage","epoch":1,"step":1e300,"from":"DORMANT","to":"DORMANT"})",
      R"({"what":"started","epoch":0,"step":0,"topology":{"slots":[{"id":1}],"seeds_born":0}})",
      R"({"what":"started","epoch":0,"step":0,"topology":{"slots":[],"seeds_born":1e300}})",
      R"({"what":"segment","epoch":0,"step":0,"records":-1})",
      R"({"what":"forked","epoch":0,"step":0,"without":"all"})",
      R"({"what":"checkpoint","name":")" + std::string(2 << 20, 'x') + R"("})"};
  journal.records.insert(journal.records.begin() + 2, bad.begin(), bad.end());
  journal.records.push_back(R"({"what":"lane","step":1})");  // another room's
  const auto history = journal.read();
  CHECK(history.damaged() == bad.size());
  CHECK(history.records().size() == 7);
  CHECK(history.replay().topology == life().now);
}

TEST_CASE("a record says the same after it went through text") {
  GrowthRecord record;
  record.what = "gate";
  record.place = {3, 24};
  record.hash = "0123456789abcdef";
  record.event = GrowthEvent{.seed_id = "seed-0001",
                             .slot = "r0c0",
                             .blueprint = "mlp",
                             .from = Stage::kTraining,
                             .to = Stage::kBlending,
                             .reason = "learned",
                             .command_id = "c3",
                             .decision = "START_GRAFTING: it is time",
                             .code = "G2",
                             .passed = true,
                             .values = {{"improvement_points", 1.5}},
                             .required = {{"improvement_points", 0.5}},
                             .took_ms = 2.5,
                             .memory_bytes = 1024};
  GrowthRecord read;
  REQUIRE(read_growth_record(growth_record_json(record).dump(), read) == GrowthRecordKind::kGrowth);
  CHECK(growth_record_json(read) == growth_record_json(record));
  CHECK(read.event->values.at("improvement_points") == 1.5);
  CHECK(read.event->passed == true);
  CHECK(read.event->took_ms == 2.5);
  json damaged = growth_record_json(record);
  damaged["memory_bytes"] = 1e300;
  REQUIRE(read_growth_record(damaged.dump(), read) == GrowthRecordKind::kGrowth);
  CHECK_FALSE(read.event->memory_bytes);
  for (const double took_ms : {-1.0, 3.2e12, 1e300}) {  // 3.2e12 ms: 101 years
    CAPTURE(took_ms);
    damaged["took_ms"] = took_ms;
    REQUIRE(read_growth_record(damaged.dump(), read) == GrowthRecordKind::kGrowth);
    CHECK_FALSE(read.event->took_ms);
  }
}

TEST_CASE("a checkpoint's record is read alike in the form it is written in and in any other") {
  const auto read = [](const std::string& text) {
    GrowthRecord record;
    const auto kind = read_growth_record(text, record);
    return std::pair(kind, kind == GrowthRecordKind::kGrowth ? growth_record_json(record).dump() : "");
  };
  const json good = {
      {"what", "checkpoint"}, {"name", "epoch-0001-step-000000010"}, {"epoch", 1}, {"step", 10}, {"bytes", 123},
      {"best", true},         {"topology", "0123456789abcdef"}};
  CHECK(read(good.dump()) == read(good.dump(1)));  // with blanks it is parsed as a document
  CHECK(read(good.dump()).first == GrowthRecordKind::kGrowth);
  for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{{"epoch", -1},
                                                                            {"epoch", 4294967296},
                                                                            {"epoch", "1"},
                                                                            {"epoch", 1.5},
                                                                            {"step", nullptr},
                                                                            {"step", true},
                                                                            {"name", 5},
                                                                            {"name", "a \"b\" \\ \u00e9"},
                                                                            {"topology", false},
                                                                            {"topology", {1, 2}},
                                                                            {"bytes", {{"a", 1}}},
                                                                            {"best", nullptr}}) {
    json changed = good;
    changed[key] = value;
    INFO(changed.dump());
    CHECK(read(changed.dump()) == read(changed.dump(1)));
  }
  for (const auto* text :
       {R"({"epoch":1,"step":1,"what":"checkpoint"}x)", R"({"epoch":1,"what":"checkpoint"})",
        R"({"epoch":1,"step":1,,"what":"checkpoint"})", R"({"epoch":01x,"step":1,"what":"checkpoint"})"}) {
    CHECK(read(text).first == GrowthRecordKind::kDamaged);
  }
}

TEST_CASE("the first record of a later file stands for those before it, and repeats them where they are there") {
  const auto run = life();
  GrowthRecord segment;
  segment.what = "segment";
  segment.place = {9, 90};
  segment.snapshot = run.now;
  segment.records_before = run.records.size();
  const auto text = growth_record_json(segment).dump();
  REQUIRE(read_segment(text));
  CHECK(read_segment(text)->records_before == run.records.size());
  CHECK_FALSE(read_segment(run.records.front()));
  CHECK_FALSE(read_segment(R"({"what":"segment"})"));

  GrowthHistory whole, part;
  for (const auto& record : run.records) whole.take(record);
  const auto known = whole.records().size();
  whole.take(text);
  CHECK(whole.records().size() == known);
  part.take(text);
  CHECK(part.num_records() == whole.num_records());
  REQUIRE(part.records().size() == 1);
  CHECK(part.records()[0].number == run.records.size() + 1);
  CHECK(part.replay().topology == run.now);
  CHECK(part.replay().starts_known);

  GrowthHistory lacking;  // the last record before it is lost
  for (std::size_t i = 0; i + 1 < run.records.size(); ++i) lacking.take(run.records[i]);
  lacking.take(text);
  CHECK(lacking.num_records() == whole.num_records());
  CHECK(lacking.replay().topology == run.now);
}

}  // namespace esper::test::growth_history_test
