#include "tolaria/run/save_reports.h"

#include <catch2/catch_test_macros.hpp>

#include "support/memory_sink.h"

namespace esper::test::save_reports_test {

using namespace esper::tolaria;

namespace {

struct Reporting {
  RunProgress progress;
  base::Ledger ledger;
  MemorySink sink;
  Outbox outbox{"run", base::Clock(), progress, ledger, sink};
  SaveReports reports{outbox};

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& event : outbox.waiting()) names.emplace_back(event.description);
    return names;
  }
};

SaveResult saved() {
  SaveResult result;
  result.path = "/run/checkpoints/a";
  result.bytes = 5;
  return result;
}

SaveResult full() {
  SaveResult result;
  result.problem = "no space";
  result.out_of_space = true;
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a disk that stays full is reported once, and once more when a save succeeds") {
  Reporting it;
  it.reports.report(full());
  it.reports.report(full());
  CHECK(it.names() == Names{"tolaria.checkpoint_failed", "tolaria.save_paused"});
  CHECK(it.reports.figures().failed == 2);
  REQUIRE(it.reports.failure());
  it.reports.report(saved());
  CHECK(it.names() ==
        Names{"tolaria.checkpoint_failed", "tolaria.save_paused", "tolaria.save_resumed", "tolaria.checkpoint_saved"});
  CHECK_FALSE(it.reports.failure());
  CHECK(it.reports.figures().written == 1);
  CHECK(it.reports.figures().bytes == 5);
}

TEST_CASE("a failed save names its checkpoint, and a full disk the bytes that are free, where it says so") {
  Reporting it;
  SaveResult failed = full();
  failed.destination = "/run/checkpoints/b";
  SECTION("it says so") {
    failed.free_bytes = 7;
    it.reports.report(failed);
    REQUIRE(it.names() == Names{"tolaria.checkpoint_failed", "tolaria.save_paused"});
    CHECK(it.outbox.waiting()[0].attributes.at("path") == "/run/checkpoints/b");
    CHECK(it.outbox.waiting()[1].attributes.at("path") == "/run/checkpoints/b");
    CHECK(it.outbox.waiting()[1].attributes.at("free_bytes") == "7");
  }
  SECTION("it does not") {
    it.reports.report(failed);
    REQUIRE(it.names() == Names{"tolaria.checkpoint_failed", "tolaria.save_paused"});
    CHECK_FALSE(it.outbox.waiting()[1].attributes.contains("free_bytes"));
  }
}

TEST_CASE("a save says how long it took and whether it is the best, and which superseded checkpoint is still there") {
  Reporting it;
  SaveResult ordinary = saved(), best = saved();
  ordinary.save_ms = 12.5;
  best.rank = CheckpointStore::Rank::kBest;
  best.not_deleted = UndeletedCheckpoint{"/run/checkpoints/old", "permission denied"};
  it.reports.report(ordinary);
  it.reports.report(best);
  REQUIRE(it.names() ==
          Names{"tolaria.checkpoint_saved", "tolaria.checkpoint_not_deleted", "tolaria.checkpoint_saved"});
  CHECK(it.outbox.waiting()[0].attributes.at("save_ms") == "12.5");
  CHECK(it.outbox.waiting()[0].attributes.at("kind") == "ordinary");
  CHECK(it.outbox.waiting()[1].attributes.at("path") == "/run/checkpoints/old");
  CHECK(it.outbox.waiting()[1].attributes.at("reason") == "permission denied");
  CHECK(it.outbox.waiting()[2].attributes.at("kind") == "best");
}

TEST_CASE("a save of what the disk has already is no news") {
  Reporting it;
  SaveResult again = saved();
  again.bytes = 0;
  it.reports.report(again);
  CHECK(it.names().empty());
  CHECK(it.reports.figures().written == 0);
}

TEST_CASE("lost records are counted, and reported once until a save succeeds") {
  Reporting it;
  SaveResult lost;
  lost.kind = SaveResult::Kind::kRecords;
  lost.lost_records = 2;
  it.reports.report(lost);
  it.reports.report(lost);
  CHECK(it.names() == Names{"tolaria.journal_failed"});
  it.reports.report(saved());
  it.reports.report(lost);
  CHECK(it.names() == Names{"tolaria.journal_failed", "tolaria.checkpoint_saved", "tolaria.journal_failed"});
  CHECK(it.reports.figures().lost_records == 6);
}

TEST_CASE("a skipped save is counted and reported") {
  Reporting it;
  it.reports.report_skipped({12, 2, "hash"});
  CHECK(it.names() == Names{"tolaria.checkpoint_skipped"});
  CHECK(it.outbox.waiting()[0].attributes.at("step") == "12");
  CHECK(it.outbox.waiting()[0].attributes.at("epoch") == "2");
  CHECK(it.reports.figures().skipped == 1);
}

}  // namespace esper::test::save_reports_test
