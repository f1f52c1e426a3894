#include "tolaria/checkpoint/growth_check.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/slot/topology.h"
#include "storage/journal/journal.h"
#include "support/run_fixture.h"

namespace esper::test::growth_check_test {

using tolaria::check_growth;
using tolaria::CheckpointImage;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::RunOutcome;
using tolaria::start_record;

namespace {

using Catch::Matchers::ContainsSubstring;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using nlohmann::json;

config::RunConfig growing_config() {
  auto config = small_config();
  config.epochs = 6;
  config.checkpoint.keep_last = 100;
  config.growth.alpha_ticks = 2;
  config.growth.gates.min_training_epochs = 1;
  config.growth.gates.min_improvement_points = -100;
  config.growth.gates.min_gradient_ratio = 0;
  return config;
}

Decision short_life(const Observation& seen) {
  switch (seen.current_epoch) {
    case 1:
      return {{germination(seen)}, "there is room"};
    case 2:
      return {{seed_command(seen, SeedOperation::kStartTraining, "seed-0001")}, "it is there"};
    case 5:
      return {{seed_command(seen, SeedOperation::kCull, "seed-0001")}, "it is worth nothing"};
    default:
      return {{}, "waits"};
  }
}

history::GrowthHistory history_of(base::FileSystem& files) {
  history::GrowthHistory history;
  storage::scan_journal(files, kJournal, [&](std::string_view text) { history.take(text); });
  return history;
}

// A journal of a run that began with the network of `image` and knows that checkpoint.
history::GrowthHistory other_history(const CheckpointImage& image, leyline::Topology topology) {
  history::GrowthHistory history;
  history.take(start_record("started", {0, 0, ""}, topology));
  history.take(json{{"what", "checkpoint"},
                    {"name", "c"},
                    {"epoch", image.info.epoch},
                    {"step", image.info.step},
                    {"topology", topology_hash(topology)}}
                   .dump());
  return history;
}

}  // namespace

TEST_CASE("every checkpoint of a run agrees with what its journal rebuilds") {
  SmallRun it(growing_config(), short_life);
  // What apps/engine records before the first step.
  const auto begin = kasmina::topology_of(it.model->network.save_topology());
  it.writer.record(start_record("started", {0, 0, ""}, begin));
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto history = history_of(it.files);
  CHECK(history.damaged() == 0);
  CHECK(history.replay().gaps.empty());
  const auto entries = list_checkpoints(it.files, kCheckpoints);
  REQUIRE(entries.size() == 6);
  std::set<std::string> hashes;
  for (const auto& entry : entries) {
    const auto image = read_checkpoint(it.files, entry.path);
    REQUIRE(image);
    CHECK(check_growth(history, *image).has_value());
    const auto held = kasmina::topology_of(image->run.at("topology"));
    CHECK(compare(history, {entry.epoch, entry.step}, held).kind == history::Agreement::Kind::kAgrees);
    CHECK(image->run.at("topology_hash") == topology_hash(held));
    hashes.insert(topology_hash(held));
  }
  CHECK(hashes.size() == 4);  // GERMINATED, TRAINING, CULLED, EMBARGOED
  CHECK(history.replay().topology == kasmina::topology_of(it.model->network.save_topology()));
}

TEST_CASE("a journal record holds the command and its reason, its cost and its measurements") {
  SmallRun it(growing_config(), short_life);
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  std::map<std::string, std::vector<history::GrowthRecord>> records;
  const auto history = history_of(it.files);
  for (const auto& record : history.records()) records[record.what].push_back(record);
  REQUIRE(records["graft"].size() == 1);
  const auto& graft = records["graft"][0];
  CHECK(graft.event->decision == "GERMINATE: there is room");
  CHECK(graft.event->took_ms > 0);
  CHECK(graft.event->values.at("params") > 0);
  // Weights, gradients and one moment of four bytes each.
  CHECK(*graft.event->memory_bytes == 12 * static_cast<std::int64_t>(graft.event->values.at("params")));
  REQUIRE(records["gate"].size() == 2);
  CHECK(records["gate"][1].event->code == "G1");
  CHECK(records["gate"][1].event->passed == true);
  CHECK(records["gate"][1].event->required.at("parameters") == 1);
  REQUIRE(records["cull"].size() == 1);
  CHECK(records["cull"][0].event->decision == "CULL: it is worth nothing");
  CHECK(records["stage"].back().event->to == leyline::Stage::kEmbargoed);
  CHECK(records["stage"].back().event->decision.empty());
}

TEST_CASE("a checkpoint that the journal contradicts is an error that says what differs") {
  SmallRun it(growing_config(), short_life);
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto image = read_checkpoint(it.files, list_checkpoints(it.files, kCheckpoints).at(2).path);
  REQUIRE(image);
  auto topology = kasmina::topology_of(image->run.at("topology"));
  CHECK(check_growth(other_history(*image, topology), *image).has_value());
  topology.slots[0] = {topology.slots[0].id, leyline::Stage::kDormant, "", ""};
  try {
    (void)check_growth(other_history(*image, topology), *image);
    FAIL("agreed");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    CHECK_THAT(error.what(), ContainsSubstring("DORMANT -> TRAINING seed-0001"));
  }
  CHECK_THAT(check_growth({}, *image).error(), ContainsSubstring("no growth records"));
}

}  // namespace esper::test::growth_check_test
