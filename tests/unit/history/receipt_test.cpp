#include "history/receipt/receipt.h"

#include <stdlib.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "history/growth/run_history.h"
#include "history/receipt/seed_list.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"

namespace esper::test::receipt_test {

using namespace esper;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using history::GrowthEvent;
using history::GrowthRecord;
using leyline::Stage;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A run folder that is written record by record.
struct Folder {
  explicit Folder(const std::string& first = R"({"what":"started","epoch":0,"step":0})") {
    std::string name = (fs::temp_directory_path() / "receipt-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
    std::ofstream(path / "config.yaml") << "name: a\n";
    append(first);
  }
  ~Folder() { fs::remove_all(path); }

  void append(const std::string& text) const {
    storage::JournalWriter(storage::real_file_system(), (path / "journal").string()).append(text);
  }
  void event(const std::string& what, std::uint32_t epoch, GrowthEvent event) const {
    GrowthRecord record;
    record.what = what;
    record.place = {epoch, epoch * 10};
    record.event = std::move(event);
    if (record.event->slot.empty()) record.event->slot = "r0c0";
    if (record.event->blueprint.empty()) record.event->blueprint = "mlp";
    append(history::growth_record_json(record).dump());
  }
  void stage(std::uint32_t epoch, Stage from, Stage to, const std::string& seed = "seed-0001",
             const std::string& slot = "r0c0") const {
    event("stage", epoch,
          {.seed_id = seed, .slot = slot, .from = from, .to = to, .reason = "because", .command_id = "c"});
  }
  void packet(std::uint32_t epoch, const json& metrics, const json& events = json::array()) const {
    std::ofstream(path / "telemetry.jsonl", std::ios::app)
        << json{{"packet_id", "p"},
                {"metrics", metrics},
                {"events", events},
                {"system_health", {{"indicators", {{"epoch", std::to_string(epoch)}}}}}}
        << "\n";
  }
  void step_time(std::uint32_t epoch, double us) const {
    packet(epoch, {{{"name", "tolaria.step.p50_us"}, {"value", us}, {"attributes", json::object()}}});
  }
  void seed_metric(std::uint32_t epoch, const std::string& name, double value,
                   const std::string& seed = "seed-0001") const {
    packet(epoch, {{{"name", name}, {"value", value}, {"attributes", {{"seed_id", seed}}}}});
  }
  // Names without "kasmina.seed.".
  void seed_metrics(std::uint32_t epoch, const std::map<std::string, double>& values) const {
    for (const auto& [name, value] : values) seed_metric(epoch, "kasmina.seed." + name, value);
  }
  void limited(std::uint32_t epoch, const std::string& omitted, int needed) const {
    const json attributes = {
        {"epoch", std::to_string(epoch)}, {"omitted", omitted}, {"needed", std::to_string(needed)}};
    packet(epoch, json::array(),
           json::array({json{{"description", "tolaria.counterfactual_limited"}, {"attributes", attributes}}}));
  }
  history::Receipt receipt(const std::string& seed = "seed-0001") const { return history::read_receipt(path, seed); }

  fs::path path;
};

json topology_of(const std::string& stage, int born) {
  const std::string seed = stage == "DORMANT" ? "" : "seed-0001", blueprint = stage == "DORMANT" ? "" : "mlp";
  return {{"seeds_born", born},
          {"slots", {{{"id", "r0c0"}, {"stage", stage}, {"seed", seed}, {"blueprint", blueprint}}}}};
}

void graft(const Folder& run, std::uint32_t epoch) {
  run.event("graft", epoch,
            {.seed_id = "seed-0001",
             .from = Stage::kGerminated,
             .to = Stage::kGerminated,
             .decision = "GERMINATE: there is room",
             .values = {{"params", 40}},
             .took_ms = 2.5,
             .memory_bytes = 480});
}

// Born at epoch 3, culled at 9 from probation.
void whole_life(const Folder& run) {
  graft(run, 3);
  run.stage(3, Stage::kDormant, Stage::kGerminated);
  run.stage(4, Stage::kGerminated, Stage::kTraining);
  run.stage(6, Stage::kTraining, Stage::kBlending);
  run.stage(7, Stage::kBlending, Stage::kShadowing);
  run.stage(8, Stage::kShadowing, Stage::kProbationary);
}

}  // namespace

TEST_CASE("a receipt adds up what journal and telemetry measured") {
  const Folder run;
  whole_life(run);
  run.stage(11, Stage::kProbationary, Stage::kFossilized);
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) run.step_time(epoch, 1000.0 + epoch);
  for (std::uint32_t epoch = 4; epoch <= 12; ++epoch) run.step_time(epoch, 1500.0 + epoch);
  for (const auto& [epoch, points] : std::map<std::uint32_t, double>{{9, 2}, {10, 3}, {11, 4}, {12, 50}}) {
    run.seed_metrics(epoch, {{"contribution_points", points},
                             {"contribution_stderr_points", 0.5},
                             {"contribution_half_width_points", 1.25},
                             {"shapley_points", points / 2},
                             {"shapley_stderr_points", 0.25}});
  }
  run.seed_metric(5, "tolaria.grad_agg.seed.conflicts", 3);
  run.seed_metric(6, "tolaria.grad_agg.seed.conflicts", 4);
  run.seed_metric(6, "tolaria.grad_agg.seed.conflicts", 100, "seed-0002");
  run.seed_metric(5, "tolaria.grad_agg.seed.conflict_ratio", 0.25);
  const auto receipt = run.receipt();
  CHECK(receipt.outcome == history::Receipt::Outcome::kFossilized);
  CHECK(receipt.slot == "r0c0");
  CHECK(receipt.born == history::RunPlace{3, 30});
  CHECK(receipt.ended == history::RunPlace{11, 110});
  CHECK(receipt.parameters == 40);
  CHECK(receipt.memory_bytes == 480);
  CHECK(receipt.graft_stall_ms == 2.5);
  CHECK(receipt.step.before_ms == Approx(1.002));
  CHECK(receipt.step.epochs_before == 3);
  CHECK(receipt.step.after_ms == Approx(1.506));  // the nearest five
  CHECK(receipt.step.epochs_after == 5);
  // After it is a fossil its figure compares with the past.
  CHECK(receipt.contribution.measurements == 3);
  CHECK(receipt.contribution.points == 4);
  REQUIRE(receipt.contribution.interval);
  CHECK(receipt.contribution.interval->low == Approx(4 - 1.25));
  CHECK(receipt.contribution.interval->high == Approx(4 + 1.25));
  CHECK(receipt.contribution.shapley_points == 2);
  REQUIRE(receipt.contribution.shapley_interval);
  // As in runs of before half widths were recorded.
  CHECK(receipt.contribution.shapley_interval->low == Approx(2 - 1.96 * 0.25));
  CHECK(receipt.conflicts == 7);
  CHECK(receipt.conflict_ratio == 0.25);
  CHECK_FALSE(receipt.isolation_violations);
  std::vector<std::uint32_t> epochs;
  for (const auto& stage : receipt.stages) epochs.push_back(stage.epochs.value());
  CHECK(epochs == std::vector<std::uint32_t>{1, 2, 1, 1, 3, 0});
  const auto text = receipt_text(receipt);
  CHECK_THAT(text, ContainsSubstring("seed-0001, mlp at r0c0: fossilised at epoch 11, step 110") &&
                       ContainsSubstring("+4.00 points, 95 % interval +2.75 to +5.25, the last of 3 measurements") &&
                       ContainsSubstring("Shapley value               +2.00 points, 95 % interval +1.51 to +2.49") &&
                       ContainsSubstring("1.002 ms (3 epochs) before, 1.506 ms (5 epochs) after: +0.504 ms") &&
                       ContainsSubstring("isolation violations        not measured") &&
                       ContainsSubstring("command GERMINATE: there is room"));
}

TEST_CASE("a receipt has the worth as last measured, from telemetry or else from the gates") {
  const Folder run;
  whole_life(run);
  CHECK_THAT(receipt_text(run.receipt()), ContainsSubstring("worth against a control     not measured"));
  run.event("gate", 6,
            {.seed_id = "seed-0001",
             .from = Stage::kTraining,
             .to = Stage::kBlending,
             .code = "G2",
             .passed = true,
             .values = {{"worth_loss", 0.5}, {"worth_loss_stderr", 0.1}, {"worth_points", 2}}});
  auto worth = run.receipt().worth;
  CHECK(worth.loss == 0.5);
  REQUIRE(worth.loss_interval);
  CHECK(worth.loss_interval->low == Approx(0.5 - 1.96 * 0.1));
  CHECK(worth.points == 2);
  CHECK_FALSE(worth.points_interval);
  CHECK_FALSE(worth.epochs);

  run.stage(11, Stage::kProbationary, Stage::kFossilized);
  for (const std::uint32_t epoch : {4U, 5U, 6U}) {
    run.seed_metrics(epoch, {{"worth_epochs", epoch - 3},
                             {"worth_loss", 0.25 * epoch},
                             {"worth_loss_stderr", 0.5},
                             {"worth_points", epoch},
                             {"worth_stderr_points", 1},
                             {"worth_half_width_points", 3}});
  }
  const auto receipt = run.receipt();
  CHECK(receipt.worth.epochs == 3);
  CHECK(receipt.worth.loss == 1.5);
  CHECK(receipt.worth.points_interval->high == Approx(6 + 3));
  CHECK_THAT(receipt_text(receipt), ContainsSubstring("+1.5 in validation loss, 95 % interval +0.52 to +2.48; +6.00 "
                                                      "points, 95 % interval +3.00 to +9.00; 3 epochs compared"));
  const auto shown = receipt_json("run", receipt);
  CHECK(shown["worth"]["epochs"] == 3);
  CHECK(shown["worth"]["loss"]["loss"] == 1.5);
  CHECK(shown["worth"]["accuracy"]["points"] == 6);
}

TEST_CASE("the worth that a gate judged later than the last telemetry of it is the last one") {
  const Folder run;
  whole_life(run);
  run.seed_metrics(8, {{"worth_epochs", 3}, {"worth_loss", 0.5}});
  run.event("gate", 9,
            {.seed_id = "seed-0001",
             .from = Stage::kProbationary,
             .to = Stage::kFossilized,
             .code = "G5",
             .passed = true,
             .values = {{"worth_epochs", 4}, {"worth_loss", 0.75}}});
  run.stage(9, Stage::kProbationary, Stage::kFossilized);
  CHECK(run.receipt().worth.epochs == 4);
  CHECK(run.receipt().worth.loss == 0.75);
}

TEST_CASE("what was not measured is said to be so, never 0") {
  const Folder run;
  run.stage(3, Stage::kDormant, Stage::kGerminated);
  run.stage(5, Stage::kGerminated, Stage::kCulled);
  const auto receipt = run.receipt();
  const auto shown = receipt_json("run", receipt);
  for (const char* key : {"parameters", "memory_bytes", "conflicts", "conflict_ratio", "isolation_violations"}) {
    CAPTURE(key);
    CHECK(shown.at(key).is_null());
  }
  CHECK(shown["step_ms"]["before"].is_null());
  CHECK(shown["stall_ms"]["graft"].is_null());
  CHECK(shown["contribution"]["points"].is_null());
  CHECK(shown["shapley"]["points"].is_null());
  CHECK(shown["outcome"] == "culled");
  CHECK(shown["ended"]["epoch"] == 5);
  CHECK(shown["epochs_in_stages"]["GERMINATED"] == 2);
  const auto text = receipt_text(receipt);
  CHECK_THAT(text, ContainsSubstring("parameters                  not measured") &&
                       ContainsSubstring("drop when switched off now  not measured") &&
                       ContainsSubstring("stall at the graft          not measured") &&
                       ContainsSubstring("note: there is no telemetry.jsonl"));
}

TEST_CASE("what has no standard error has no interval; the gate's own figure serves where telemetry was off") {
  const Folder run;
  whole_life(run);
  run.event("gate", 9,
            {.seed_id = "seed-0001",
             .from = Stage::kProbationary,
             .to = Stage::kFossilized,
             .reason = "contribution_points >= 1 (measured 2)",
             .code = "G5",
             .passed = true,
             .values = {{"contribution_points", 2}, {"shapley_points", 3}, {"shapley_stderr_points", 0.5}}});
  run.stage(9, Stage::kProbationary, Stage::kFossilized);
  const auto receipt = run.receipt();
  CHECK(receipt.contribution.points == 2);
  CHECK(receipt.contribution.measurements == 1);
  CHECK_FALSE(receipt.contribution.interval);
  REQUIRE(receipt.contribution.shapley_interval);
  CHECK(receipt.contribution.shapley_interval->high == Approx(3 + 1.96 * 0.5));
  CHECK_THAT(receipt_text(receipt), ContainsSubstring("G5 passed: contribution_points >= 1 (measured 2)"));
}

TEST_CASE("an error of zero without a half width is no interval, and a gate's half width is one") {
  const Folder run;
  whole_life(run);
  run.event("gate", 9,
            {.seed_id = "seed-0001",
             .from = Stage::kProbationary,
             .to = Stage::kFossilized,
             .reason = "contribution_points >= 1 (measured 2)",
             .code = "G5",
             .passed = true,
             .values = {{"contribution_points", 2},
                        {"contribution_stderr_points", 0},
                        {"shapley_points", 3},
                        {"shapley_stderr_points", 0},
                        {"shapley_half_width_points", 1.5}}});
  run.stage(9, Stage::kProbationary, Stage::kFossilized);
  const auto receipt = run.receipt();
  CHECK_FALSE(receipt.contribution.interval);
  REQUIRE(receipt.contribution.shapley_interval);
  CHECK(receipt.contribution.shapley_interval->low == 1.5);
}

TEST_CASE("a receipt says what budget a Shapley value would have needed") {
  const Folder run;
  whole_life(run);
  run.seed_metric(9, "kasmina.seed.contribution_points", 2);
  run.limited(9, "Shapley values", 34);
  const auto receipt = run.receipt();
  CHECK(receipt.contribution.configurations_needed == 34);
  CHECK_THAT(
      receipt_text(receipt),
      ContainsSubstring("Shapley value               not measured: growth.counterfactual.max_configurations must be "
                        ">= 34 for so many seeds"));
  CHECK(receipt_json("run", receipt)["shapley"]["configurations_needed"] == 34);

  run.seed_metric(10, "kasmina.seed.contribution_points", 2);
  run.limited(10, "interactions", 58);
  CHECK_FALSE(run.receipt().contribution.configurations_needed);
}

TEST_CASE("step times are compared over epochs in which no other seed came or went") {
  const Folder run;
  run.stage(2, Stage::kDormant, Stage::kGerminated, "seed-0002", "r0c1");
  graft(run, 5);
  run.stage(5, Stage::kDormant, Stage::kGerminated);
  run.stage(7, Stage::kGerminated, Stage::kCulled, "seed-0002", "r0c1");
  for (std::uint32_t epoch = 1; epoch <= 12; ++epoch) run.step_time(epoch, 1000.0 * epoch);
  const auto step = run.receipt().step;
  CHECK(step.before_ms == Approx(4));  // 3, 4, 5
  CHECK(step.epochs_before == 3);
  CHECK(step.after_ms == Approx(6.5));  // 6, 7
  CHECK(step.epochs_after == 2);

  const Folder crowded;
  crowded.stage(5, Stage::kDormant, Stage::kGerminated);
  crowded.stage(5, Stage::kDormant, Stage::kGerminated, "seed-0002", "r0c1");
  crowded.step_time(4, 1000);
  crowded.step_time(6, 2000);
  CHECK_FALSE(crowded.receipt().step.before_ms);
}

TEST_CASE("step times are those of one process on both sides of the graft") {
  const Folder run;
  graft(run, 5);
  run.stage(5, Stage::kDormant, Stage::kGerminated);
  const auto resumed = [&](const std::string& epoch) {
    run.packet(0, json::array(),
               json::array({{{"description", "tolaria.resumed"}, {"attributes", {{"epoch", epoch}}}}}));
  };
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) run.step_time(epoch, 9000);
  resumed("3");
  for (std::uint32_t epoch = 4; epoch <= 7; ++epoch) run.step_time(epoch, 1000.0 * epoch);
  resumed("7");
  for (std::uint32_t epoch = 8; epoch <= 12; ++epoch) run.step_time(epoch, 9000);
  const auto step = run.receipt().step;
  CHECK(step.before_ms == Approx(4.5));  // 4, 5
  CHECK(step.after_ms == Approx(6.5));   // 6, 7
  resumed("5");
  run.step_time(6, 9000);
  CHECK_FALSE(run.receipt().step.before_ms);
  CHECK_FALSE(run.receipt().step.after_ms);
}

TEST_CASE("epochs that a resumed run went back behind do not count") {
  const Folder run;
  whole_life(run);
  run.seed_metric(9, "kasmina.seed.contribution_points", 8);
  run.seed_metric(10, "kasmina.seed.contribution_points", 9);
  run.packet(8, json::array(), {{{"description", "tolaria.resumed"}, {"attributes", {{"epoch", "8"}}}}});
  run.append(R"({"what":"resumed","epoch":8,"step":80})");
  run.seed_metric(9, "kasmina.seed.contribution_points", 1);
  CHECK(run.receipt().contribution.measurements == 1);
  CHECK(run.receipt().contribution.points == 1);
}

TEST_CASE("a receipt tells what the step of the grafted network took to prepare and to bring into use") {
  const Folder run;
  const auto swapped = [](int step, const char* prepared, const char* prepare_ms) {
    return json{{"description", "tolaria.growth_swapped"},
                {"attributes",
                 {{"step", std::to_string(step)},
                  {"lane", "compiled"},
                  {"prepared", prepared},
                  {"prepare_ms", prepare_ms},
                  {"swap_us", "95.5"},
                  {"stall_ms", "1.25"}}}};
  };
  whole_life(run);
  run.packet(2, json::array(), json::array({swapped(20, "false", "0")}));
  run.packet(4, json::array(), json::array({swapped(30, "true", "812.5")}));
  const auto receipt = run.receipt();
  REQUIRE(receipt.swap);
  CHECK(receipt.swap->prepared);
  const auto shown = receipt_json("run", receipt)["swap"];
  CHECK(shown["prepare_ms"] == 812.5);
  CHECK(shown["swap_us"] == 95.5);
  CHECK(shown["stall_ms"] == 1.25);
  CHECK(shown["lane"] == "compiled");
  CHECK_THAT(receipt_text(receipt),
             ContainsSubstring("step preparation            prepared in the background before the graft in 812.5 ms; "
                               "activated in 95.5 us (lane compiled); longest stall of a step after it: 1.25 ms"));
  const Folder eager;
  whole_life(eager);
  CHECK(receipt_json("run", eager.receipt())["swap"].is_null());
  CHECK_THAT(receipt_text(eager.receipt()), ContainsSubstring("step preparation            not measured"));
}

TEST_CASE("a module that the host has from the start has a receipt of what is known") {
  const Folder run(
      json{{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("FOSSILIZED", 1)}}.dump());
  run.append(R"({"what":"checkpoint","epoch":6,"step":60,"name":"c"})");
  run.seed_metric(1, "kasmina.seed.params", 40);
  const auto receipt = run.receipt();
  CHECK(receipt.origin == history::Receipt::Origin::kHost);
  CHECK(receipt.outcome == history::Receipt::Outcome::kFossilized);
  CHECK(receipt.parameters == 40);
  CHECK(receipt.slot == "r0c0");
  CHECK(receipt.blueprint == "mlp");
  REQUIRE(receipt.stages.size() == 1);
  CHECK(receipt.stages[0].epochs == 6);
  CHECK_THAT(receipt_text(receipt),
             ContainsSubstring("origin                      host.modules: built into the host") &&
                 ContainsSubstring("parameters                  40"));
  CHECK(receipt_json("run", receipt)["origin"] == "host.modules");
  CHECK(receipt.gaps.empty());
}

TEST_CASE("a fork's receipt follows a seed of its parent back into the parent's folder") {
  const Folder parent(
      json{{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("DORMANT", 0)}}.dump());
  graft(parent, 3);
  parent.stage(3, Stage::kDormant, Stage::kGerminated);
  parent.stage(4, Stage::kGerminated, Stage::kTraining);
  parent.stage(9, Stage::kTraining, Stage::kCulled);
  for (std::uint32_t epoch = 1; epoch <= 9; ++epoch) parent.step_time(epoch, 1000 + epoch);
  const auto forked = [&](const fs::path& from, const json& topology) {
    return json{{"what", "forked"},        {"epoch", 6},        {"step", 60},
                {"parent", from.string()}, {"checkpoint", "c"}, {"topology", topology}};
  };
  const Folder fork(forked(parent.path, topology_of("TRAINING", 1)).dump());
  fork.stage(7, Stage::kTraining, Stage::kBlending);
  fork.step_time(7, 2000);
  const auto receipt = fork.receipt();
  CHECK(receipt.born == history::RunPlace{3, 30});
  CHECK(receipt.parameters == 40);
  CHECK(receipt.outcome == history::Receipt::Outcome::kGrowing);
  REQUIRE(receipt.stages.size() == 3);
  CHECK(receipt.stages[1].epochs == 3);  // TRAINING: two epochs there, one here
  CHECK(receipt.step.before_ms == Approx(1.002));
  CHECK(receipt.step.epochs_after == 3);  // 4 to 6 there; the process here is another one
  REQUIRE(receipt.ancestors.size() == 1);
  CHECK(receipt.gaps.empty());
  CHECK_THAT(receipt_text(receipt), ContainsSubstring("germinated at epoch 3, step 30 of " + parent.path.string() +
                                                      ", forked at epoch 6, step 60"));
  CHECK(receipt_json("run", receipt)["forked_from"][0]["run_dir"] == parent.path.string());

  // A parent whose own records leave open how it stood is known by the checkpoint.
  const Folder doubtful(
      json{{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("DORMANT", 0)}}.dump());
  graft(doubtful, 3);
  doubtful.stage(3, Stage::kDormant, Stage::kGerminated);
  doubtful.append(R"({"what":"checkpoint","epoch":6,"step":60,"name":"c","topology":"0123456789abcdef"})");
  const Folder of_doubtful(forked(doubtful.path, topology_of("TRAINING", 1)).dump());
  const auto from_doubt = of_doubtful.receipt();
  CHECK(from_doubt.born == history::RunPlace{3, 30});
  CHECK(from_doubt.doubt.empty());
  REQUIRE(from_doubt.stages.size() == 2);
  CHECK_FALSE(from_doubt.stages[0].epochs);
  CHECK_THAT(from_doubt.gaps[0],
             ContainsSubstring("in " + doubtful.path.string() + ": records are missing before step 60"));

  // Without the parent, or with another run in its place, what is known begins with the fork.
  const auto alone = [&](const fs::path& from, const json& topology, const std::string& why) {
    const Folder left(forked(from, topology).dump());
    const auto shown = left.receipt();
    CHECK(shown.origin == history::Receipt::Origin::kParent);
    CHECK_FALSE(shown.born);
    CHECK(receipt_json("run", shown)["forked_from"][0]["run_dir"] == from.string());
    CHECK_THAT(receipt_text(shown), ContainsSubstring(from.string() + ", which cannot be read, forked at epoch 6"));
    CHECK(shown.blueprint == "mlp");
    REQUIRE_FALSE(shown.gaps.empty());
    CHECK_THAT(shown.gaps[0], ContainsSubstring("was forked from " + from.string() + " at epoch 6, step 60") &&
                                  ContainsSubstring(why));
  };
  alone("/nonexistent/run", topology_of("TRAINING", 1), "/nonexistent/run is not a run folder");
  alone(parent.path, topology_of("PROBATIONARY", 1), "does not contain the network");
}

TEST_CASE("a seed that a fork left out is reported by the run before") {
  auto record = json{{"what", "forked"}, {"epoch", 6}, {"step", 60}, {"parent", "runs/a"}, {"checkpoint", "c"}};
  record["topology"] = topology_of("DORMANT", 1);
  record["without"] = {"seed-0001"};
  const Folder fork(record.dump());
  try {
    fork.receipt();
    FAIL("it has a receipt");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kConfig);
    CHECK_THAT(error.what(), ContainsSubstring("esper receipt runs/a seed-0001 shows"));
  }
}

namespace {

json started() { return {{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("DORMANT", 0)}}; }
json forked_from(const fs::path& parent, std::uint32_t epoch, const json& topology,
                 const std::vector<std::string>& without = {}) {
  return {{"what", "forked"},  {"epoch", epoch},       {"step", epoch * 10}, {"parent", parent.string()},
          {"checkpoint", "c"}, {"topology", topology}, {"without", without}};
}
history::Lineage lineage_of(const Folder& run) {
  return history::read_lineage(run.path.string(), history::read_run_history(run.path.string()).history);
}

}  // namespace

TEST_CASE("a seed that a fork further back left out is reported by the run before that one") {
  const Folder first(started().dump());
  first.stage(3, Stage::kDormant, Stage::kGerminated);
  const Folder second(forked_from(first.path, 6, topology_of("DORMANT", 1), {"seed-0001"}).dump());
  const Folder third(forked_from(second.path, 8, topology_of("DORMANT", 1)).dump());
  try {
    third.receipt();
    FAIL("it has a receipt");
  } catch (const base::Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("removed when " + first.path.string() + " was forked at epoch 6") &&
                                 ContainsSubstring("esper receipt " + first.path.string() + " seed-0001 shows"));
  }
}

TEST_CASE("the seeds of a run are listed with slot, blueprint, outcome and epochs") {
  const Folder run(started().dump());
  CHECK(history::read_seed_list(run.path).seeds.empty());
  run.stage(3, Stage::kDormant, Stage::kGerminated);
  run.stage(4, Stage::kGerminated, Stage::kTraining);
  run.stage(5, Stage::kDormant, Stage::kGerminated, "seed-0002", "r0c1");
  run.stage(9, Stage::kTraining, Stage::kCulled);
  run.stage(10, Stage::kCulled, Stage::kDormant, "");
  run.stage(11, Stage::kDormant, Stage::kGerminated, "seed-0003");
  run.stage(12, Stage::kGerminated, Stage::kFossilized, "seed-0003");
  run.stage(15, Stage::kGerminated, Stage::kTraining, "seed-0002", "r0c1");

  using Outcome = history::Receipt::Outcome;
  const auto seeds = history::read_seed_list(run.path).seeds;
  REQUIRE(seeds.size() == 3);
  CHECK(seeds[0].seed_id == "seed-0001");
  CHECK(seeds[0].slot == "r0c0");
  CHECK(seeds[0].blueprint == "mlp");
  CHECK(seeds[0].outcome == Outcome::kCulled);
  CHECK(seeds[0].stage == Stage::kTraining);
  CHECK(seeds[0].from.epoch == 3);
  CHECK(seeds[0].epochs == 6);
  CHECK(seeds[1].seed_id == "seed-0002");
  CHECK(seeds[1].slot == "r0c1");
  CHECK(seeds[1].outcome == Outcome::kGrowing);
  CHECK(seeds[1].stage == Stage::kTraining);
  CHECK_FALSE(seeds[1].ended);
  CHECK(seeds[1].epochs == 10);
  CHECK(seeds[2].outcome == Outcome::kFossilized);
  CHECK(seeds[2].epochs == 1);
  for (const auto& seed : seeds) CHECK(run.receipt(seed.seed_id).outcome == seed.outcome);
}

TEST_CASE("the seeds of a fork are those of the run before, too, without those that it left out") {
  const Folder first(started().dump());
  first.stage(1, Stage::kDormant, Stage::kGerminated);
  first.stage(2, Stage::kGerminated, Stage::kCulled);
  first.stage(3, Stage::kCulled, Stage::kDormant, "");
  first.stage(4, Stage::kDormant, Stage::kGerminated, "seed-0002");
  const Folder fork(forked_from(first.path, 5, topology_of("DORMANT", 2), {"seed-0002"}).dump());
  fork.stage(6, Stage::kDormant, Stage::kGerminated, "seed-0003");
  const auto list = history::read_seed_list(fork.path);
  REQUIRE(list.seeds.size() == 2);
  CHECK(list.seeds[0].seed_id == "seed-0001");
  CHECK(list.seeds[0].epochs == 1);
  CHECK(list.seeds[1].seed_id == "seed-0003");
  CHECK(list.gaps.empty());
}

TEST_CASE("a seed that a fork gave birth to is that fork's, however many forks lie before and behind it") {
  const Folder first(started().dump());
  first.stage(1, Stage::kDormant, Stage::kGerminated, "seed-0001", "r0c0");
  first.stage(2, Stage::kGerminated, Stage::kCulled, "seed-0001", "r0c0");
  first.stage(3, Stage::kCulled, Stage::kDormant, "", "r0c0");
  const Folder second(forked_from(first.path, 4, topology_of("DORMANT", 1)).dump());
  second.stage(5, Stage::kDormant, Stage::kGerminated, "seed-0002");
  auto grown = topology_of("GERMINATED", 2);
  grown["slots"][0]["seed"] = "seed-0002";
  const Folder third(forked_from(second.path, 7, grown).dump());
  const auto receipt = third.receipt("seed-0002");
  CHECK_THAT(receipt_text(receipt), ContainsSubstring("germinated at epoch 5, step 50 of " + second.path.string() +
                                                      ", forked at epoch 7, step 70\n"));
  const auto shown = receipt_json("third", receipt);
  REQUIRE(shown["forked_from"].size() == 1);
  CHECK(shown["forked_from"][0]["run_dir"] == second.path.string());
  CHECK(shown["born"]["run_dir"] == second.path.string());
  CHECK(receipt_json("second", second.receipt("seed-0002"))["born"]["run_dir"] == "second");
  const auto older = receipt_json("third", third.receipt("seed-0001"));
  CHECK(older["forked_from"].size() == 2);
  CHECK(older["born"]["run_dir"] == first.path.string());
}

TEST_CASE("a fork that has not trained misses no telemetry") {
  const Folder parent(started().dump());
  parent.stage(3, Stage::kDormant, Stage::kGerminated);
  for (std::uint32_t epoch = 1; epoch <= 6; ++epoch) parent.step_time(epoch, 1000);
  const Folder fork(forked_from(parent.path, 6, topology_of("GERMINATED", 1)).dump());
  CHECK(fork.receipt().gaps.empty());
  CHECK_FALSE(fork.receipt().telemetry_missing);
  fork.stage(8, Stage::kGerminated, Stage::kTraining);
  REQUIRE(fork.receipt().gaps.size() == 1);
  CHECK(fork.receipt().telemetry_missing);
}

TEST_CASE("a journal that does not fit the folder's checkpoints is reported") {
  const Folder run(started().dump());
  run.stage(3, Stage::kDormant, Stage::kGerminated);
  run.append(R"({"what":"checkpoint","epoch":4,"step":40,"name":"c","topology":"0123456789abcdef"})");
  const auto gaps_with = [&](const std::string& hash) {
    fs::create_directories(run.path / "checkpoints" / "c");
    std::ofstream(run.path / "checkpoints" / "c" / "run.json") << json{{"topology_hash", hash}};
    std::string text;
    for (const auto& gap : history::read_run_history(run.path.string()).gaps) text += gap + "\n";
    return text;
  };
  CHECK(gaps_with("0123456789abcdef").find("two different networks") == std::string::npos);
  CHECK_THAT(gaps_with("fedcba9876543210"),
             ContainsSubstring("the journal and the checkpoint c of " + run.path.string()) &&
                 ContainsSubstring("describe two different networks (0123456789abcdef and fedcba9876543210)"));
}

TEST_CASE("a fork where nothing is to grow any more is followed back into its parent") {
  auto grown = topology_of("TRAINING", 2);
  grown["slots"].push_back({{"id", "r0c1"}, {"stage", "TRAINING"}, {"seed", "seed-0002"}, {"blueprint", "mlp"}});
  auto left = topology_of("TRAINING", 2);
  left["slots"].push_back({{"id", "r0c1"}, {"stage", "TERMINATED"}, {"seed", ""}, {"blueprint", ""}});
  auto empty = topology_of("DORMANT", 0);
  empty["slots"].push_back({{"id", "r0c1"}, {"stage", "DORMANT"}, {"seed", ""}, {"blueprint", ""}});
  auto first = started();
  first["topology"] = empty;
  const Folder parent(first.dump());
  for (const auto& [seed, slot] : {std::pair{"seed-0001", "r0c0"}, std::pair{"seed-0002", "r0c1"}}) {
    parent.stage(3, Stage::kDormant, Stage::kGerminated, seed, slot);
    parent.stage(4, Stage::kGerminated, Stage::kTraining, seed, slot);
  }
  const Folder fork(forked_from(parent.path, 6, left, {"seed-0002"}).dump());
  const auto receipt = fork.receipt();
  CHECK(receipt.born == history::RunPlace{3, 30});
  CHECK(receipt.doubt.empty());
  CHECK(lineage_of(fork).gaps.empty());
}

TEST_CASE("what is cut off before a fork is said: runs beyond the deepest, and a parent that is the fork itself") {
  std::vector<std::unique_ptr<Folder>> runs;
  runs.push_back(std::make_unique<Folder>(started().dump()));
  runs[0]->stage(1, Stage::kDormant, Stage::kGerminated);
  while (runs.size() < 34) {
    const auto record = forked_from(runs.back()->path, 2, topology_of("GERMINATED", 1));
    runs.push_back(std::make_unique<Folder>(record.dump()));
  }
  CHECK(lineage_of(*runs[32]).gaps.empty());
  CHECK(runs[32]->receipt().born);
  CHECK_FALSE(runs[33]->receipt().born);
  const auto cut = lineage_of(*runs[33]).gaps;
  REQUIRE(cut.size() == 1);
  CHECK_THAT(cut[0],
             ContainsSubstring(runs[1]->path.string() + " was forked from " + runs[0]->path.string() + " at epoch 2") &&
                 ContainsSubstring("the limit for chains of forks is 32 runs"));

  const Folder fork(started().dump());
  fs::remove(fork.path / "journal");
  fork.append(forked_from(fork.path, 6, topology_of("TRAINING", 1)).dump());
  const auto gaps = lineage_of(fork).gaps;
  REQUIRE(gaps.size() == 1);
  CHECK_THAT(gaps[0], ContainsSubstring("it cannot be read: " + fork.path.string() + " is the fork itself"));
}

TEST_CASE("a seed whose first record that is left says of no move is reported from there on") {
  const Folder run(started().dump());
  run.stage(6, Stage::kTraining, Stage::kTraining);  // CANCEL
  const auto receipt = run.receipt();
  CHECK(receipt.origin == history::Receipt::Origin::kUnknown);
  REQUIRE(receipt.stages.size() == 1);
  CHECK(receipt.stages[0].stage == Stage::kTraining);
  run.stage(8, Stage::kTraining, Stage::kBlending);
  const auto later = run.receipt();
  REQUIRE(later.stages.size() == 2);
  CHECK_FALSE(later.stages[0].epochs);
  CHECK_FALSE(later.born);
}

TEST_CASE("an id that is nearly one is unknown, whatever was born") {
  const Folder run(started().dump());
  run.stage(3, Stage::kDormant, Stage::kGerminated);
  for (const auto* id : {"seed-1", "seed-0001x", "seed- 001", "seed-00001"}) {
    CAPTURE(id);
    try {
      run.receipt(id);
      FAIL("it has a receipt");
    } catch (const base::Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring("the journal has no seed"));
    }
  }
}

TEST_CASE("a seed whose records are missing is reported as far as they go") {
  const Folder run(
      json{{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("DORMANT", 0)}}.dump());
  run.stage(6, Stage::kTraining, Stage::kBlending);  // born and trained in a gap
  run.stage(8, Stage::kBlending, Stage::kShadowing);
  const auto receipt = run.receipt();
  CHECK(receipt.origin == history::Receipt::Origin::kUnknown);
  CHECK_FALSE(receipt.born);
  REQUIRE(receipt.stages.size() == 3);
  CHECK_FALSE(receipt.stages[0].epochs);
  CHECK(receipt.stages[1].epochs == 2);
  CHECK_THAT(receipt_text(receipt), ContainsSubstring("origin                      unknown: records are missing"));
  REQUIRE_FALSE(receipt.gaps.empty());
  CHECK_THAT(receipt.gaps[0], ContainsSubstring("records are missing before step 60 (between record 1"));
  CHECK_FALSE(receipt.accuracy_at_birth_points);
  // Telemetry still tells when it came.
  for (std::uint32_t epoch = 2; epoch <= 8; ++epoch) {
    run.packet(epoch,
               {{{"name", "tolaria.validation.accuracy"}, {"value", 0.1 * epoch}, {"attributes", json::object()}}});
    if (epoch >= 3) run.seed_metric(epoch, "kasmina.seed.params", 40);
  }
  run.seed_metric(7, "kasmina.seed.contribution_points", 2);
  const auto more = run.receipt();
  CHECK(more.accuracy_at_birth_points == Approx(30));
  CHECK(more.accuracy_after_first_epoch_points == Approx(40));
  CHECK(more.parameters == 40);
  REQUIRE(more.measured.size() == 1);
  CHECK(more.measured[0].accuracy_points == Approx(70));

  const Folder culled(
      json{{"what", "started"}, {"epoch", 0}, {"step", 0}, {"topology", topology_of("DORMANT", 0)}}.dump());
  culled.stage(6, Stage::kTraining, Stage::kCulled);
  CHECK(culled.receipt().outcome == history::Receipt::Outcome::kCulled);
  CHECK(culled.receipt().ended == history::RunPlace{6, 60});
  culled.stage(9, Stage::kDormant, Stage::kGerminated, "seed-0004");
  try {
    culled.receipt("seed-0003");
    FAIL("it has a receipt");
  } catch (const base::Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("seed-0003 was created, but its records are missing"));
  }
}

TEST_CASE("damage is counted and reported, and what is sound is read") {
  const Folder run;
  whole_life(run);
  run.append("{broken");
  run.step_time(2, 1000);
  std::ofstream(run.path / "telemetry.jsonl", std::ios::app) << "{\"packet_id\": 1\n[]\n"
                                                             << std::string(100, '[') << "\n";
  run.packet(2, 5, "no list");
  run.packet(2, {{{"name", 7}, {"value", "x"}}, 3, nullptr});
  {
    std::ofstream journal(run.path / "journal", std::ios::app | std::ios::binary);
    journal << "torn";
  }
  const auto receipt = run.receipt();
  CHECK(receipt.step.before_ms == 1);
  std::string gaps;
  for (const auto& gap : receipt.gaps) gaps += gap + "\n";
  CHECK_THAT(gaps, ContainsSubstring("1 record of the journal is invalid and was ignored: ") &&
                       ContainsSubstring("the journal ends within a record, after record 8: 4 bytes") &&
                       ContainsSubstring("telemetry.jsonl has 3 damaged lines"));
}

TEST_CASE("a folder or a seed that is not there has its own text") {
  const Folder run;
  whole_life(run);
  const auto code_of = [](auto&& act) {
    try {
      act();
    } catch (const base::Error& error) {
      return std::pair{static_cast<int>(error.code()), std::string(error.what())};
    }
    return std::pair{0, std::string()};
  };
  const auto unknown = code_of([&] { run.receipt("seed-0009"); });
  CHECK(unknown.first == 2);
  CHECK_THAT(unknown.second, ContainsSubstring("has no seed \"seed-0009\"; known seeds: seed-0001"));
  const auto empty = code_of([&] { run.receipt(""); });
  CHECK(empty.first == 2);
  CHECK_THAT(empty.second, ContainsSubstring("has no seed \"\"; known seeds: seed-0001"));
  CHECK(code_of([&] { history::read_receipt(run.path / "no", "seed-0001"); }).first == 2);
  fs::remove(run.path / "journal");
  CHECK(code_of([&] { run.receipt(); }).first == 3);
  std::ofstream(run.path / "journal") << "something else";
  CHECK(code_of([&] { run.receipt(); }).first == 5);
  fs::remove(run.path / "journal");
  fs::create_directories(run.path / "journal");
  const auto folder = code_of([&] { run.receipt(); });
  CHECK(folder.first == 5);
  CHECK_THAT(folder.second, ContainsSubstring("it is a folder; move it away to start a new one"));
}

}  // namespace esper::test::receipt_test
