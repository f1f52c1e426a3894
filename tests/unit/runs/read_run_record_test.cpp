#include "runs/read_run_record.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <initializer_list>
#include <optional>

#include "base/text/json_struct.h"
#include "history/setting_change.h"
#include "run_room.h"
#include "storage/folder_lock.h"

using namespace esper::runs::test;
using Catch::Matchers::ContainsSubstring;

namespace esper::runs::read_run_record_test {
namespace {

struct OwnRoom {
  esper::test::TemporaryFolder room;
};

// A run in a temporary folder, which is deleted with it.
struct OneRun : OwnRoom, RunFolder {
  explicit OneRun(const std::string& name = "run") : RunFolder(room / name) {}
  RunRecord read() const { return read_run_record(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  void change_json(const std::string& name, const std::function<void(json&)>& change) const {
    json document = json::parse(std::ifstream(file(name)));
    change(document);
    write_text(file(name), document.dump());
  }
  // A link in place of a file, a folder or nothing.
  void replace_by_link(const std::string& name, const std::string& target) const {
    fs::remove(file(name));
    fs::create_symlink(target, file(name));
  }
  // The last event of a process, which may leave no summary.
  void report_end(const json& attributes) const {
    add_packet(packet(5, json::array(), json::array({event("tolaria.run_finished", attributes)}), 2));
  }
};

}  // namespace

TEST_CASE("a run that ended is read from its summary, with everything that its files say") {
  const OneRun run("small-1");
  run.add_summary("done", 3);
  const auto record = run.read();
  CHECK(record.state == RunState::kFinished);
  CHECK(record.reason.empty());
  CHECK(record.name == "small-1");
  CHECK(record.config_name == "small");
  CHECK(record.task == "classification");
  CHECK(record.dataset == "digits");
  CHECK(record.seed == 1337);
  CHECK(record.planned_epochs == 3);
  CHECK(record.epochs == 2);
  CHECK(record.metric == "accuracy");
  CHECK(record.goal == Goal::kMaximize);
  CHECK(record.best_metric == "loss");
  CHECK(record.best_goal == Goal::kMinimize);
  CHECK(record.last.figures == std::map<std::string, double>{{"loss", 0.5}, {"accuracy", 0.75}});
  CHECK(record.best.epoch == 1);
  CHECK(figure_of(record.best, "loss") == 0.4);
  CHECK(record.started_ms == 1'800'000'000'000);
  CHECK(record.ended_ms == 1'800'000'003'000);
  CHECK(record.duration_s == 4.5);
  CHECK(record.checkpoints == 2);
  CHECK(record.bytes > 2000);
  CHECK(record.version == "1.2.3");
  CHECK(record.parent.empty());
  const auto again = base::from_json<RunRecord>(base::to_json(record));
  REQUIRE(again);
  CHECK(base::to_json(*again) == base::to_json(record));
}

TEST_CASE("the planned epochs are those that the run accepted last while it trained") {
  const OneRun run;
  fs::create_directories(run.file("changes"));
  write_text(run.file("changes/request-0001.json"), R"({"set": {"epochs": "9"}})");  // not accepted
  CHECK(run.read().planned_epochs == 3);
  auto& files = storage::real_file_system();
  const history::SettingChange rate{1, "training.optimizer.lr", "0.01", 1};
  history::publish_accepted(files, run.path, {rate});
  CHECK(run.read().planned_epochs == 3);
  history::publish_accepted(files, run.path, {{2, "epochs", "5", 2}, {1, "epochs", "2", 3}, rate});
  run.add_summary("done", 3);
  const auto record = run.read();
  CHECK(record.planned_epochs == 2);
  CHECK(record.state == RunState::kFinished);
}

TEST_CASE("where the accepted settings of a run that trains are damaged, its planned epochs are unknown") {
  const OneRun run;
  const auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
  REQUIRE(lock.lock);
  write_text(run.file("changes/accepted.json"), R"({"changes": [)");
  const auto record = run.read();
  CHECK(record.state == RunState::kRunning);
  CHECK_FALSE(record.planned_epochs);
  CHECK(record.epochs == 2);
}

TEST_CASE("a run has the name of its folder, however that is given") {
  const OneRun run("small-1");
  for (const char* ending : {"", "/", "//", "/.", "/checkpoints/.."}) {
    CAPTURE(ending);
    CHECK(read_run_record(run.path + ending).name == "small-1");
  }
}

TEST_CASE("the version is the first event's own, and not what another text of it says") {
  const OneRun run;
  const std::string misleading = R"(","version":"9.9.9","version":)";
  const auto version = GENERATE(as<std::string>{}, "1.2.3", "\"quoted\" \\", "\xC3\xA4");
  const auto started = event("tolaria.run_started", {{"name", misleading}, {"version", version}});
  write_text(run.file("telemetry.jsonl"), line_of(packet(0, json::array(), json::array({started}), 0)));
  CHECK(run.read().version == version);
}

TEST_CASE("a packet that did not begin the run, or whose version is no text, says nothing of the version") {
  const OneRun run;
  const auto [name, version] =
      GENERATE(std::pair{"tolaria.resumed", json("1.2.3")}, std::pair{"tolaria.run_started", json(7)});
  const auto first = event(name, {{"version", version}});
  write_text(run.file("telemetry.jsonl"), line_of(packet(0, json::array(), json::array({first}), 0)));
  CHECK(run.read().version.empty());
}

TEST_CASE("a version of bytes that are no UTF-8 is left out") {
  const OneRun run;
  write_text(run.file("telemetry.jsonl"),
             "{\"timestamp\":\"" + moment_at(0) + "\",\"x\":\"tolaria.run_started\",\"version\":\"\xFF\"}\n");
  CHECK(run.read().version.empty());
}

TEST_CASE("a summary is read whatever its other members hold") {
  const OneRun run;
  run.add_summary("done", 3);
  run.change_json("summary.json", [](json& summary) {
    summary["seeds"] = json::array({{{"id", "a \"status\": \"failed\" }]"}}, json::array({"\\"})});
    summary["train"] = {{"status", "failed"}, {"epochs", 99}};
    summary["ledger"]["ms"] = {{"until", 1}, {"compute", 2.5}};
  });
  const auto record = run.read();
  CHECK(record.state == RunState::kFinished);
  CHECK(record.epochs == 2);
  CHECK(record.ended_ms == 1'800'000'003'000);
}

TEST_CASE("a training time that no run can have taken is as good as missing") {
  const auto seconds = GENERATE(-1.0, 3.2e9, 1e300);
  const OneRun run;
  run.change_json("checkpoints/" + RunFolder::checkpoint_name(2) + "/run.json",
                  [&](json& state) { state["progress"]["wall_s"] = seconds; });
  CHECK_FALSE(run.read().duration_s);
  run.add_summary("done", 3);
  run.change_json("summary.json", [&](json& summary) { summary["wall_s"] = seconds; });
  const auto record = run.read();
  CHECK_FALSE(record.duration_s);
  CHECK(record.state == RunState::kFinished);
  CHECK(record.epochs == 2);
}

TEST_CASE("a summary whose epochs are no count leaves the course to the newest checkpoint and the telemetry") {
  const auto epochs = GENERATE(as<std::string>{}, "\"three\"", "-1", "1e300", "3.7", "null", "4294967296");
  CAPTURE(epochs);
  const OneRun run;
  run.report_epoch(3, 0.5, 0.9, 3);
  run.add_summary("done", 4);
  run.change_json("summary.json", [&](json& summary) { summary["epochs"] = json::parse(epochs); });
  const auto record = run.read();
  CHECK(record.state == RunState::kFinished);
  CHECK(record.ended_ms == 1'800'000'004'000);
  CHECK(record.epochs == 3);
  CHECK(record.last.epoch == 3);
  CHECK(figure_of(record.last, "accuracy") == 0.9);
  fs::remove(run.file("telemetry.jsonl"));
  CHECK(run.read().epochs == 2);
}

TEST_CASE("each way to end has its state") {
  const auto [status, state] =
      GENERATE(std::pair{"early_stopped", RunState::kFinished}, std::pair{"interrupted", RunState::kInterrupted},
               std::pair{"halted", RunState::kInterrupted}, std::pair{"diverged", RunState::kDiverged},
               std::pair{"not_saved", RunState::kFailed}, std::pair{"out_of_memory", RunState::kFailed});
  const OneRun run;
  run.add_summary(status, 3);
  const auto record = run.read();
  CHECK(record.state == state);
  CHECK(record.reason == (status == std::string("early_stopped") ? "stopped early: because" : "because"));
}

TEST_CASE("a run that was killed is interrupted, and its course is that of its newest checkpoint and epoch") {
  const OneRun run;
  auto record = run.read();
  CHECK(record.state == RunState::kInterrupted);
  CHECK(record.reason == "no process works on it, and none recorded its end");
  CHECK(record.epochs == 2);
  CHECK(record.last.epoch == 2);
  CHECK(figure_of(record.best, "loss") == 1.0);
  CHECK(record.duration_s == 3.0);
  CHECK_FALSE(record.ended_ms);
  run.report_epoch(3, 2.5, 0.9, 2);  // worse by best_metric, and not saved
  std::ofstream(run.file("telemetry.jsonl"), std::ios::app) << R"({"packet_id":"torn","timest)";
  record = run.read();
  CHECK(record.epochs == 3);
  CHECK(record.last.epoch == 3);
  CHECK(figure_of(record.last, "accuracy") == 0.9);
  CHECK(record.best.epoch == 2);
  std::ofstream(run.file("telemetry.jsonl"), std::ios::app) << "\n";
  run.report_epoch(4, 0.1, 0.95, 4);
  CHECK(run.read().best.epoch == 4);
}

TEST_CASE("the best epoch of a run without a summary is the one that the run itself has, whatever the losses are") {
  const OneRun run;
  const auto check = [&](std::int64_t last, std::int64_t best, std::optional<double> best_loss) {
    const auto record = run.read();
    CHECK(record.state == RunState::kInterrupted);
    CHECK(record.last.epoch == last);
    CHECK(record.best.epoch == best);
    CHECK(figure_of(record.best, "loss") == best_loss);
  };
  SECTION("an epoch whose end changed the validated network is not") {
    run.report_epoch(3, 0.1, 0.9, 2);
    check(3, 2, 1.0);
  }
  SECTION("it may lie between the newest checkpoint and the newest epoch") {
    run.report_epoch(3, 0.2, 0.8, 3);
    run.report_epoch(4, 0.1, 0.9, 3);
    check(4, 3, 0.2);
  }
  SECTION("its figures are unknown where its packet is gone") {
    fs::remove(run.file("telemetry.jsonl"));
    run.report_epoch(4, 0.1, 0.9, 3);
    check(4, 3, std::nullopt);
  }
  SECTION("an earlier version did not name it: it is the newest checkpoint's") {
    run.add_packet(
        packet(3, {metric("tolaria.epochs.total", 3), metric("tolaria.validation.loss", 0.1)}, json::array(), 3));
    check(3, 2, 1.0);
    CHECK(figure_of(run.read().last, "loss") == 0.1);
  }
  SECTION("the newest epoch was saved, with its seeds settled") {
    run.report_epoch(3, 0.2, 0.8, 3);
    run.add_checkpoint(3, 0.3, 0.7);
    check(3, 3, 0.3);
    CHECK(figure_of(run.read().last, "loss") == 0.3);
  }
}

TEST_CASE("a summary from before the run was resumed and killed says nothing of its end") {
  const OneRun run;
  run.add_summary("done", 3);
  run.add_packet(packet(9, json::array(), json::array({event("tolaria.resumed", json::object())}), 2));
  CHECK(run.read().state == RunState::kInterrupted);
  fs::remove(run.file("telemetry.jsonl"));  // then the times of the files decide
  const auto written = fs::last_write_time(run.file("summary.json"));
  fs::last_write_time(run.file("journal"), written + std::chrono::seconds(1));
  CHECK(run.read().state == RunState::kFinished);
  fs::last_write_time(run.file("journal"), written + std::chrono::seconds(60));
  CHECK(run.read().state == RunState::kInterrupted);
}

TEST_CASE("while its lock is held a run is running, whatever its files say, and reading leaves the lock alone") {
  const OneRun run;
  run.add_summary("done", 3);
  const auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
  REQUIRE(lock.lock);
  CHECK(run.read().state == RunState::kRunning);
  write_text(run.file("config.yaml"), "\x01");
  const auto record = run.read();
  CHECK(record.state == RunState::kRunning);
  CHECK_FALSE(record.ended_ms);
}

TEST_CASE("a process that ended without a summary is known by its last event") {
  struct Case {
    json attributes;
    RunState state;
    const char* reason;
  };
  for (const auto& [attributes, state, reason] : std::initializer_list<Case>{
           {{{"status", "failed"}, {"reason", "no memory"}}, RunState::kFailed, "no memory"},
           {{{"exit_code", "0"}, {"reason", "validation loss no longer improves"}},
            RunState::kFinished,
            "stopped early: validation loss no longer improves"},
           {{{"exit_code", "0"}}, RunState::kFinished, ""},
           {{{"exit_code", "4"}}, RunState::kDiverged, ""},
           {{{"exit_code", "143"}}, RunState::kInterrupted, ""},
           {{{"exit_code", "6"}}, RunState::kFailed, ""},
       }) {
    CAPTURE(attributes.dump());
    const OneRun run;
    run.report_end(attributes);
    const auto record = run.read();
    CHECK(record.state == state);
    CHECK(record.reason == reason);
    CHECK(record.ended_ms == 1'800'000'005'000);
  }
}

TEST_CASE("a packet about what sinks lost may follow the last event of a process") {
  const OneRun run;
  run.report_end({{"exit_code", "6"}, {"reason", "no memory"}});
  auto lost = packet(6, json::array(), json::array(), 2);
  lost["source_subsystem"] = "nissa";
  run.add_packet(lost);
  const auto record = run.read();
  CHECK(record.state == RunState::kFailed);
  CHECK(record.reason == "no memory");
}

TEST_CASE("a fork knows its parent, and one that was not trained says so") {
  const OneRun run("fork");
  fs::remove(run.file("journal"));
  fs::remove(run.file("telemetry.jsonl"));
  run.add_record({{"what", "forked"},
                  {"parent", "/runs/first"},
                  {"checkpoint", RunFolder::checkpoint_name(1)},
                  {"topology", std::string(20'000, 'x')}});
  const auto record = run.read();
  CHECK(record.parent == "/runs/first");
  CHECK(record.parent_checkpoint == RunFolder::checkpoint_name(1));
  CHECK(record.state == RunState::kInterrupted);
  CHECK(record.reason == "forked, and not trained since");
}

TEST_CASE("a folder that was made and no more is empty") {
  const esper::test::TemporaryFolder room;
  fs::create_directories(room / "run/checkpoints");
  write_text(room / "run/lock", "");
  CHECK(read_run_record(room / "run").state == RunState::kEmpty);
  write_text(room / "run/config.yaml", config::resolved_yaml({}));
  CHECK(read_run_record(room / "run").state == RunState::kEmpty);
}

namespace {

// A config.yaml with the fields that all have, in which `before` is replaced by `after`.
std::string changed_config(const std::string& before, const std::string& after) {
  std::string text = "name: \"small\"\nseed: 1\nepochs: 3\ndata:\n  kind: digits\nhost:\n  kind: mlp\n";
  const auto at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

// Of a run that has ended, with this config.yaml.
RunRecord record_with(const std::string& config) {
  const OneRun run;
  run.add_summary("done", 3);
  write_text(run.file("config.yaml"), config);
  return run.read();
}

}  // namespace

TEST_CASE("a configuration that no run has makes a run damaged, also where its summary is whole, with the reason") {
  struct Case {
    std::string text;
    const char* reason;
  };
  for (const auto& [text, reason] : std::initializer_list<Case>{
           {"", "it is empty"},
           {"seed: 1\nepochs: 3\nname: \"sma", "line 3 is not a field"},
           {"seed: 1\nepochs: 3\nname: \"a\\\"b\n", "line 3 is not a field"},
           {"seed: 1\nepochs: 3\nextra: [1, \"]\", 2\n", "line 3 is not a field"},
           {"this: is\nsome: other file\n", "it has no name"},
           {changed_config("name: \"small\"\n", ""), "it has no name"},
           {changed_config("\"small\"", "\"\""), "name is \"\"\"\""},
           {changed_config("\"small\"", "[x]"), "name is \"[x]\""},
           {changed_config("\"small\"", "{a: b}"), "name is \"{a: b}\""},
           {changed_config("epochs: 3", "epochs: three"), "epochs is \"three\""},
           {changed_config("epochs: 3", "epochs: -2"), "epochs is \"-2\""},
           {changed_config("seed: 1\n", ""), "it has no seed"},
           {changed_config("seed: 1", "seed:"), "seed is \"\""},
           {changed_config("data:\n  kind: digits\n", ""), "it has no data.kind"},
           {changed_config("kind: digits", "kind:"), "data.kind is \"\""},
           {changed_config("kind: digits", "kind: luck"), "data.kind is \"luck\""},
           {changed_config("  kind: mlp\n", ""), "it has no host.kind"},
           {changed_config("kind: mlp", "kind: luck"), "host.kind is \"luck\""},
           {changed_config("data:", "task:\ndata:"), "task is \"\""},
           {changed_config("data:", "task: luck\ndata:"), "task is \"luck\""},
           {changed_config("data:", "training:\n  metric:\ndata:"), "training.metric is \"\""},
           {changed_config("data:", "training:\n  metric: luck\ndata:"), "training.metric is \"luck\""},
       }) {
    CAPTURE(text);
    const auto record = record_with(text);
    CHECK(record.state == RunState::kDamaged);
    CHECK_THAT(record.reason, ContainsSubstring("config.yaml cannot be read: " + std::string(reason)));
  }
}

TEST_CASE("a configuration of an earlier version may lack the task and the metrics") {
  const auto record = record_with(changed_config("", ""));
  CHECK(record.state == RunState::kFinished);
  CHECK(record.config_name == "small");
  CHECK(record.task.empty());
  CHECK(record.dataset == "digits");
  CHECK(record.host == "mlp");
  CHECK(record.metric == "accuracy");
  CHECK(record.best_metric == "loss");
}

TEST_CASE("a run's name may be a text that looks like a list") {
  const auto record = record_with(changed_config("\"small\"", "\"[x]\""));
  CHECK(record.state == RunState::kFinished);
  CHECK(record.config_name == "[x]");
}

TEST_CASE("what cannot be read makes a run damaged, with the reason, and nothing is thrown") {
  const OneRun run;
  run.add_summary("done", 3);
  std::string reason;
  SECTION("a huge configuration or summary") {
    fs::resize_file(run.file(GENERATE("config.yaml", "summary.json")), 1ull << 40);
    reason = "File too large";
  }
  SECTION("a summary that was cut off") {
    fs::resize_file(run.file("summary.json"), 100);
    reason = "summary.json cannot be read: it is not a JSON object";
  }
  SECTION("a summary with a figure that is none") {
    write_text(run.file("summary.json"), R"({"status":"done","epochs":two})");
    reason = "summary.json cannot be read: it is not valid JSON";
  }
  SECTION("a summary of another version") {
    run.add_summary("unheard of", 3);
    reason = "its status is \"unheard of\"";
  }
  SECTION("a link in place of a file") {
    run.replace_by_link("summary.json", "summary.json");
    reason = "summary.json is a link";
  }
  SECTION("accepted settings that were cut off") {
    write_text(run.file("changes/accepted.json"), R"({"changes": [)");
    reason = "accepted.json is damaged";
  }
  SECTION("accepted settings with a number of epochs that is none") {
    history::publish_accepted(storage::real_file_system(), run.path, {{2, "epochs", "0", 1}});
    reason = "changes/accepted.json is damaged: epochs is \"0\"";
  }
  SECTION("a file in place of the changed settings") {
    write_text(run.file("changes"), "");
    reason = "changes is damaged: it is not a folder";
  }
  SECTION("a link in place of the changed settings") {
    fs::create_directories(run.room / "elsewhere");
    run.replace_by_link("changes", run.room / "elsewhere");
    reason = "changes";
  }
  SECTION("a link in place of the checkpoints") {
    fs::rename(run.file("checkpoints"), run.room / "elsewhere");
    run.replace_by_link("checkpoints", run.room / "elsewhere");
    reason = "checkpoints is a link";
  }
  SECTION("a file in place of the checkpoints") {
    fs::remove_all(run.file("checkpoints"));
    write_text(run.file("checkpoints"), "");
    reason = "checkpoints is not a folder";
  }
  SECTION("a pipe in place of a file") {
    fs::remove(run.file("config.yaml"));
    REQUIRE(::mkfifo(run.file("config.yaml").c_str(), 0600) == 0);
    reason = "config.yaml is not a regular file";
  }
  SECTION("no configuration") {
    fs::remove(run.file("config.yaml"));
    reason = "it has no config.yaml";
  }
  SECTION("a lock that is a link") {
    run.replace_by_link("lock", "/dev/zero");
    reason = "it is a symbolic link";
  }
  SECTION("a journal that is none") {
    write_text(run.file("journal"), "forked?" + std::string(10'000, 'x'));
    reason = "is not a journal";
  }
  SECTION("a checkpoint without progress, of a run without an end") {
    fs::remove(run.file("summary.json"));
    write_text(run.checkpoint(2) + "/run.json", "[]");
    reason = "its run.json has no progress";
  }
  SECTION("folders in folders without end") {
    std::string path = run.path;
    for (int i = 0; i < 20; ++i) path += "/deeper";
    fs::create_directories(path);
    reason = "nested more than 8 deep";
  }
  const auto record = run.read();
  CHECK(record.state == RunState::kDamaged);
  CHECK_THAT(record.reason, ContainsSubstring(reason));
}

TEST_CASE("telemetry of any bytes is harmless, and its end is read within a limit") {
  const OneRun run;
  const std::string text =
      GENERATE(as<std::string>{}, "", "\n\n\n", "no packet\n", std::string(100'000, 'x'), std::string(100'000, '['),
               std::string(50'000, '[') + "\n", "\"timestamp\":\"2026-99-99T99:99:99.0Z\" tolaria.epochs.total\n",
               R"({"timestamp":"2026-01-01T00:00:00Z","events":[1,{"description":7}],"metrics":{"a":1}})"
               "\n");
  write_text(run.file("telemetry.jsonl"), text);
  CHECK(run.read().state == RunState::kInterrupted);
  std::ofstream(run.file("telemetry.jsonl"), std::ios::app) << "\n";
  run.report_epoch(3, 0.1, 0.9, 3);
  CHECK(run.read().epochs == 3);
  fs::resize_file(run.file("telemetry.jsonl"), 1ull << 40);  // zeros behind it
  CHECK(run.read().epochs == 2);                             // the checkpoint's
}

TEST_CASE("a run reads on in its telemetry's earlier files") {
  const OneRun run;
  fs::rename(run.file("telemetry.jsonl"), run.file("telemetry-000001.jsonl"));
  write_text(run.file("telemetry.jsonl"), "");
  const auto record = run.read();
  CHECK(record.started_ms == 1'800'000'000'000);
  CHECK(record.version == "1.2.3");
  CHECK(record.last.epoch == 2);
}

TEST_CASE("a run whose first telemetry was deleted did not start where the rest begins") {
  const OneRun run;
  fs::remove(run.file("telemetry.jsonl"));
  run.add_epoch(3, 0.1, 0.9);
  fs::rename(run.file("telemetry.jsonl"), run.file("telemetry-000002.jsonl"));
  run.add_epoch(4, 0.1, 0.9);
  CHECK(run.read().started_ms != 1'800'000'003'000);
  fs::rename(run.file("telemetry-000002.jsonl"), run.file("telemetry-000001.jsonl"));
  CHECK(run.read().started_ms == 1'800'000'003'000);
}

}  // namespace esper::runs::read_run_record_test
