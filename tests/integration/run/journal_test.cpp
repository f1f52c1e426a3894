// What a real run's folder still tells after its journal was lost, and what receipts tell of seeds that no graft of the
// run brought.
#include "storage/journal/journal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"
#include "storage/real_file_system.h"

namespace esper::test::journal_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Its best epoch is not its last one: the steps are too large.
Words restless() {
  return {"training.optimizer.lr=0.2", "checkpoint.every=1 epochs", "checkpoint.keep_last=1", "policy.kind=none",
          "step.lane=eager"};
}

json receipt_of(const fs::path& run, const std::string& seed) {
  const Finished finished = run_esper({"receipt", run.string(), seed, "--json"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json_of(finished);
}

void lose(const fs::path& journal, const std::string& how) {
  if (how == "moved away") fs::rename(journal, journal.string() + ".other");
  if (how == "emptied") fs::resize_file(journal, 0);
  if (how == "cut off") fs::resize_file(journal, 100);
}

}  // namespace

TEST_CASE("a run whose journal is lost keeps its best checkpoint") {
  const std::string how = GENERATE("moved away", "emptied", "cut off");
  CAPTURE(how);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  REQUIRE(train(config, run, restless() + Words{"epochs=6"}).exit_code == 0);
  const auto before = checkpoints_of(run);
  REQUIRE(before.size() == 2);  // the best one and the last one
  lose(run / "journal", how);
  const Finished best = run_esper({"evaluate", run.string(), "--checkpoint", "best", "--json"});
  INFO(best.out);
  REQUIRE(best.exit_code == 0);
  CHECK_THAT(json_of(best)["checkpoint"].get<std::string>(), ContainsSubstring(before.front()));

  const Finished resumed = resume(run, {"epochs=8"});
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("could not be compared with the journal"));
  const auto after = checkpoints_of(run);
  REQUIRE(after.size() == 2);
  CHECK(after.front() == before.front());
  CHECK(state_of(run, after.back())["progress"]["best"]["epoch"] == state_of(run, after.front())["progress"]["epoch"]);
}

TEST_CASE("records that make no sense are left out when a run is resumed") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  REQUIRE(train(config, run, {"epochs=3", "step.lane=eager"}).exit_code == 0);
  {
    esper::storage::JournalWriter journal(esper::storage::real_file_system(), (run / "journal").string());
    for (const auto* text :
         {R"({"what":5,"lane":5})", R"({"what":"lane","step":0,"shape":"s","key":"not hexadecimal"})",
          R"({"what":["lane"]})", R"([5])", "lane"}) {
      journal.append(text);
    }
  }
  const Finished resumed = resume(run, {"epochs=4"});
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("damaged lane records in the journal were ignored: 1"));
  CHECK_THAT(run_esper({"topo", "log", run.string()}).out, ContainsSubstring("of the journal are invalid"));
}

TEST_CASE("a receipt in a fork follows the seed back to where it was germinated") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const auto names = checkpoints_of(parent);
  const auto place = state_of(parent, names[names.size() / 2])["progress"];
  fs::create_directories(child.parent_path());
  const Finished made = run_esper({"fork", parent.string() + "@" + std::to_string(place["step"].get<int>()),
                                   "--run-dir", child.string(), "--json"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  const auto there = receipt_of(parent, "seed-0001"), here = receipt_of(child, "seed-0001");
  CHECK(here["forked_from"][0]["run_dir"] == parent.string());
  CHECK(here["forked_from"][0]["until"]["step"] == place["step"]);
  for (const char* same : {"slot", "blueprint", "outcome", "origin", "born", "ended", "parameters", "memory_bytes",
                           "contribution", "shapley", "reward", "epochs_in_stages"}) {
    CAPTURE(same);
    CHECK(here[same] == there[same]);
  }
  CHECK(here["events"].size() == there["events"].size());
  CHECK(here["gaps"].empty());

  // Moved together, they still find each other; alone, the fork says what is missing, and where it was.
  const auto elsewhere = room.path / "elsewhere";
  fs::create_directories(elsewhere);
  fs::rename(child, elsewhere / "child");
  fs::rename(parent, elsewhere / "run");
  const auto moved = receipt_of(elsewhere / "child", "seed-0001")["born"];
  CHECK(moved["step"] == there["born"]["step"]);
  CHECK(moved["run_dir"] == (elsewhere / "run").string());
  fs::remove_all(elsewhere / "run");
  const auto alone = receipt_of(elsewhere / "child", "seed-0001");
  CHECK(alone["origin"] == "parent");
  CHECK(alone["born"].is_null());
  CHECK(alone["forked_from"][0]["run_dir"] == parent.string());
  REQUIRE(alone["gaps"].size() > 0);
  CHECK_THAT(alone["gaps"][0].get<std::string>(), ContainsSubstring("was forked from " + parent.string()));
}

TEST_CASE("a module that the run file puts into the host has a receipt") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  REQUIRE(train(config, run, {"epochs=2", "host.modules=[r0c0=conv_heavy]"}).exit_code == 0);
  const auto receipt = receipt_of(run, "seed-0001");
  CHECK(receipt["origin"] == "host.modules");
  CHECK(receipt["blueprint"] == "conv_heavy");
  CHECK(receipt["slot"] == "r0c0");
  CHECK(receipt["parameters"].get<double>() > 0);
  CHECK(receipt["epochs_in_stages"]["FOSSILIZED"] == 2);
  CHECK(receipt["reward"]["total"].is_null());
  CHECK_THAT(receipt["reward"]["missing"].get<std::string>(), ContainsSubstring("gets no reward"));
}

}  // namespace esper::test::journal_test
