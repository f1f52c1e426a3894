#include "runs/read_run_record.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/text/json_struct.h"
#include "history/setting_change.h"
#include "run_room.h"
#include "storage/folder_lock.h"

using namespace esper::runs::test;
using Catch::Matchers::ContainsSubstring;

namespace esper::runs::read_run_record_test {

TEST_CASE("a run that ended is read from its summary, with everything that its files say") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "small-1");
  run.add_summary("done", 3);
  const auto record = read_run_record(run.path);
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
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  fs::create_directories(run.path + "/changes");
  write_text(run.path + "/changes/request-0001.json", R"({"set": {"epochs": "9"}})");  // not accepted
  CHECK(read_run_record(run.path).planned_epochs == 3);
  auto& files = storage::real_file_system();
  const history::SettingChange rate{1, "training.optimizer.lr", "0.01", 1};
  history::publish_accepted(files, run.path, {rate});
  CHECK(read_run_record(run.path).planned_epochs == 3);
  history::publish_accepted(files, run.path, {{2, "epochs", "5", 2}, {1, "epochs", "2", 3}, rate});
  run.add_summary("done", 3);
  const auto record = read_run_record(run.path);
  CHECK(record.planned_epochs == 2);
  CHECK(record.state == RunState::kFinished);
}

TEST_CASE("where the accepted settings of a run that trains are damaged, its planned epochs are unknown") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
  REQUIRE(lock.lock);
  write_text(run.path + "/changes/accepted.json", R"({"changes": [)");
  const auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kRunning);
  CHECK_FALSE(record.planned_epochs);
  CHECK(record.epochs == 2);
}

TEST_CASE("a run has the name of its folder, however that is given") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "small-1");
  for (const char* ending : {"", "/", "//", "/.", "/checkpoints/.."}) {
    CAPTURE(ending);
    CHECK(read_run_record(run.path + ending).name == "small-1");
  }
}

TEST_CASE("the version is the first event's own, and not what another text of it says") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const std::string misleading = R"(","version":"9.9.9","version":)";
  const auto version = GENERATE(as<std::string>{}, "1.2.3", "\"quoted\" \\", "\xC3\xA4");
  const auto started = event("tolaria.run_started", {{"name", misleading}, {"version", version}});
  write_text(run.path + "/telemetry.jsonl", line_of(packet(0, json::array(), json::array({started}), 0)));
  CHECK(read_run_record(run.path).version == version);
}

TEST_CASE("a packet that did not begin the run, or whose version is no text, says nothing of the version") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto [name, version] =
      GENERATE(std::pair{"tolaria.resumed", json("1.2.3")}, std::pair{"tolaria.run_started", json(7)});
  const auto first = event(name, {{"version", version}});
  write_text(run.path + "/telemetry.jsonl", line_of(packet(0, json::array(), json::array({first}), 0)));
  CHECK(read_run_record(run.path).version.empty());
}

TEST_CASE("a version of bytes that are no UTF-8 is left out") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  write_text(run.path + "/telemetry.jsonl",
             "{\"timestamp\":\"" + moment_at(0) + "\",\"x\":\"tolaria.run_started\",\"version\":\"\xFF\"}\n");
  CHECK(read_run_record(run.path).version.empty());
}

TEST_CASE("a summary is read whatever its other members hold") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary("done", 3);
  std::ifstream written(run.path + "/summary.json");
  json summary = json::parse(written);
  summary["seeds"] = json::array({{{"id", "a \"status\": \"failed\" }]"}}, json::array({"\\"})});
  summary["train"] = {{"status", "failed"}, {"epochs", 99}};
  summary["ledger"]["ms"] = {{"until", 1}, {"compute", 2.5}};
  write_text(run.path + "/summary.json", summary.dump(2));
  const auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kFinished);
  CHECK(record.epochs == 2);
  CHECK(record.ended_ms == 1'800'000'003'000);
}

TEST_CASE("a training time that no run can have taken is as good as missing") {
  const auto seconds = GENERATE(-1.0, 3.2e9, 1e300);
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const std::string checkpoint = run.checkpoint(2) + "/run.json";
  json state = json::parse(std::ifstream(checkpoint));
  state["progress"]["wall_s"] = seconds;
  write_text(checkpoint, state.dump());
  CHECK_FALSE(read_run_record(run.path).duration_s);
  run.add_summary("done", 3);
  const std::string file = run.path + "/summary.json";
  json summary = json::parse(std::ifstream(file));
  summary["wall_s"] = seconds;
  write_text(file, summary.dump());
  const auto record = read_run_record(run.path);
  CHECK_FALSE(record.duration_s);
  CHECK(record.state == RunState::kFinished);
  CHECK(record.epochs == 2);
}

TEST_CASE("a summary whose epochs are no count leaves the course to the newest checkpoint and the telemetry") {
  const auto epochs = GENERATE(as<std::string>{}, "\"three\"", "-1", "1e300", "3.7", "null", "4294967296");
  CAPTURE(epochs);
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.report_epoch(3, 0.5, 0.9, 3);
  run.add_summary("done", 4);
  const std::string file = run.path + "/summary.json";
  json summary = json::parse(std::ifstream(file));
  summary["epochs"] = json::parse(epochs);
  write_text(file, summary.dump());
  const auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kFinished);
  CHECK(record.ended_ms == 1'800'000'004'000);
  CHECK(record.epochs == 3);
  CHECK(record.last.epoch == 3);
  CHECK(figure_of(record.last, "accuracy") == 0.9);
  fs::remove(run.path + "/telemetry.jsonl");
  CHECK(read_run_record(run.path).epochs == 2);
}

TEST_CASE("each way to end has its state") {
  const auto [status, state] =
      GENERATE(std::pair{"early_stopped", RunState::kFinished}, std::pair{"interrupted", RunState::kInterrupted},
               std::pair{"halted", RunState::kInterrupted}, std::pair{"diverged", RunState::kDiverged},
               std::pair{"not_saved", RunState::kFailed}, std::pair{"out_of_memory", RunState::kFailed});
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary(status, 3);
  const auto record = read_run_record(run.path);
  CHECK(record.state == state);
  CHECK(record.reason == (status == std::string("early_stopped") ? "stopped early: because" : "because"));
}

TEST_CASE("a run that was killed is interrupted, and its course is that of its newest checkpoint and epoch") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kInterrupted);
  CHECK(record.reason == "no process works on it, and none recorded its end");
  CHECK(record.epochs == 2);
  CHECK(record.last.epoch == 2);
  CHECK(figure_of(record.best, "loss") == 1.0);
  CHECK(record.duration_s == 3.0);
  CHECK_FALSE(record.ended_ms);
  run.report_epoch(3, 2.5, 0.9, 2);  // worse by best_metric, and not saved
  std::ofstream(run.path + "/telemetry.jsonl", std::ios::app) << R"({"packet_id":"torn","timest)";
  record = read_run_record(run.path);
  CHECK(record.epochs == 3);
  CHECK(record.last.epoch == 3);
  CHECK(figure_of(record.last, "accuracy") == 0.9);
  CHECK(record.best.epoch == 2);
  std::ofstream(run.path + "/telemetry.jsonl", std::ios::app) << "\n";
  run.report_epoch(4, 0.1, 0.95, 4);
  CHECK(read_run_record(run.path).best.epoch == 4);
}

TEST_CASE("the best epoch of a run without a summary is the one that the run itself has, whatever the losses are") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  SECTION("an epoch whose end changed the validated network is not") {
    run.report_epoch(3, 0.1, 0.9, 2);
    const auto record = read_run_record(run.path);
    CHECK(record.last.epoch == 3);
    CHECK(record.best.epoch == 2);
    CHECK(figure_of(record.best, "loss") == 1.0);
  }
  SECTION("it may lie between the newest checkpoint and the newest epoch") {
    run.report_epoch(3, 0.2, 0.8, 3);
    run.report_epoch(4, 0.1, 0.9, 3);
    const auto record = read_run_record(run.path);
    CHECK(record.last.epoch == 4);
    CHECK(record.best.epoch == 3);
    CHECK(figure_of(record.best, "loss") == 0.2);
  }
  SECTION("its figures are unknown where its packet is gone") {
    fs::remove(run.path + "/telemetry.jsonl");
    run.report_epoch(4, 0.1, 0.9, 3);
    const auto record = read_run_record(run.path);
    CHECK(record.best.epoch == 3);
    CHECK(record.best.figures.empty());
  }
  SECTION("an earlier version did not name it: it is the newest checkpoint's") {
    run.add_packet(
        packet(3, {metric("tolaria.epochs.total", 3), metric("tolaria.validation.loss", 0.1)}, json::array(), 3));
    const auto record = read_run_record(run.path);
    CHECK(record.state == RunState::kInterrupted);
    CHECK(figure_of(record.last, "loss") == 0.1);
    CHECK(record.best.epoch == 2);
    CHECK(figure_of(record.best, "loss") == 1.0);
  }
  SECTION("the newest epoch was saved, with its seeds settled") {
    run.report_epoch(3, 0.2, 0.8, 3);
    run.add_checkpoint(3, 0.3, 0.7);
    const auto record = read_run_record(run.path);
    CHECK(figure_of(record.last, "loss") == 0.3);
    CHECK(figure_of(record.best, "loss") == 0.3);
  }
}

TEST_CASE("a summary from before the run was resumed and killed says nothing of its end") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary("done", 3);
  run.add_packet(packet(9, json::array(), json::array({event("tolaria.resumed", json::object())}), 2));
  CHECK(read_run_record(run.path).state == RunState::kInterrupted);
  fs::remove(run.path + "/telemetry.jsonl");  // then the times of the files decide
  const auto written = fs::last_write_time(run.path + "/summary.json");
  fs::last_write_time(run.path + "/journal", written + std::chrono::seconds(1));
  CHECK(read_run_record(run.path).state == RunState::kFinished);
  fs::last_write_time(run.path + "/journal", written + std::chrono::seconds(60));
  CHECK(read_run_record(run.path).state == RunState::kInterrupted);
}

TEST_CASE("while its lock is held a run is running, whatever its files say, and reading leaves the lock alone") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary("done", 3);
  const auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
  REQUIRE(lock.lock);
  CHECK(read_run_record(run.path).state == RunState::kRunning);
  write_text(run.path + "/config.yaml", "\x01");
  const auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kRunning);
  CHECK_FALSE(record.ended_ms);
}

TEST_CASE("a process that ended without a summary is known by its last event") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  SECTION("with an error") {
    run.add_packet(packet(5, json::array(),
                          json::array({event("tolaria.run_finished", {{"status", "failed"}, {"reason", "no memory"}})}),
                          2));
    const auto record = read_run_record(run.path);
    CHECK(record.state == RunState::kFailed);
    CHECK(record.reason == "no memory");
    CHECK(record.ended_ms == 1'800'000'005'000);
  }
  SECTION("that the console, too, was lost") {
    run.add_packet(packet(5, json::array(),
                          json::array({event("tolaria.run_finished", {{"exit_code", "6"}, {"reason", "no memory"}})}),
                          2));
    auto lost = packet(6, json::array(), json::array(), 2);
    lost["source_subsystem"] = "nissa";
    run.add_packet(lost);
    const auto record = read_run_record(run.path);
    CHECK(record.state == RunState::kFailed);
    CHECK(record.reason == "no memory");
  }
  SECTION("that stopped early") {
    const auto attributes = json{{"exit_code", "0"}, {"reason", "validation loss no longer improves"}};
    run.add_packet(packet(5, json::array(), json::array({event("tolaria.run_finished", attributes)}), 2));
    const auto record = read_run_record(run.path);
    CHECK(record.state == RunState::kFinished);
    CHECK(record.reason == "stopped early: validation loss no longer improves");
  }
  SECTION("with an exit code") {
    const auto [code, state] = GENERATE(std::pair{"0", RunState::kFinished}, std::pair{"4", RunState::kDiverged},
                                        std::pair{"143", RunState::kInterrupted}, std::pair{"6", RunState::kFailed});
    run.add_packet(packet(5, json::array(), json::array({event("tolaria.run_finished", {{"exit_code", code}})}), 2));
    CHECK(read_run_record(run.path).state == state);
  }
}

TEST_CASE("a fork knows its parent, and one that was not trained says so") {
  const esper::test::TemporaryFolder room;
  RunFolder run(room / "fork");
  fs::remove(run.path + "/journal");
  fs::remove(run.path + "/telemetry.jsonl");
  run.add_record({{"what", "forked"},
                  {"parent", "/runs/first"},
                  {"checkpoint", RunFolder::checkpoint_name(1)},
                  {"topology", std::string(20'000, 'x')}});
  const auto record = read_run_record(run.path);
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
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary("done", 3);
  write_text(run.path + "/config.yaml", config);
  return read_run_record(run.path);
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
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  run.add_summary("done", 3);
  std::string reason;
  SECTION("a huge configuration") {
    fs::resize_file(run.path + "/config.yaml", 1ull << 40);
    reason = "File too large";
  }
  SECTION("a huge summary") {
    fs::resize_file(run.path + "/summary.json", 1ull << 40);
    reason = "File too large";
  }
  SECTION("a summary that was cut off") {
    fs::resize_file(run.path + "/summary.json", 100);
    reason = "summary.json cannot be read: it is not a JSON object";
  }
  SECTION("a summary with a figure that is none") {
    write_text(run.path + "/summary.json", R"({"status":"done","epochs":two})");
    reason = "summary.json cannot be read: it is not valid JSON";
  }
  SECTION("a summary of another version") {
    run.add_summary("unheard of", 3);
    reason = "its status is \"unheard of\"";
  }
  SECTION("a link in place of a file") {
    fs::remove(run.path + "/summary.json");
    fs::create_symlink("summary.json", run.path + "/summary.json");
    reason = "summary.json is a link";
  }
  SECTION("accepted settings that were cut off") {
    write_text(run.path + "/changes/accepted.json", R"({"changes": [)");
    reason = "accepted.json is damaged";
  }
  SECTION("accepted settings with a number of epochs that is none") {
    history::publish_accepted(storage::real_file_system(), run.path, {{2, "epochs", "0", 1}});
    reason = "changes/accepted.json is damaged: epochs is \"0\"";
  }
  SECTION("a file in place of the changed settings") {
    write_text(run.path + "/changes", "");
    reason = "changes is damaged: it is not a folder";
  }
  SECTION("a link in place of the changed settings") {
    fs::create_directories(room / "elsewhere");
    fs::create_directory_symlink(room / "elsewhere", run.path + "/changes");
    reason = "changes";
  }
  SECTION("a link in place of the checkpoints") {
    fs::rename(run.path + "/checkpoints", room / "elsewhere");
    fs::create_directory_symlink(room / "elsewhere", run.path + "/checkpoints");
    reason = "checkpoints is a link";
  }
  SECTION("a file in place of the checkpoints") {
    fs::remove_all(run.path + "/checkpoints");
    write_text(run.path + "/checkpoints", "");
    reason = "checkpoints is not a folder";
  }
  SECTION("a pipe in place of a file") {
    fs::remove(run.path + "/config.yaml");
    REQUIRE(::mkfifo((run.path + "/config.yaml").c_str(), 0600) == 0);
    reason = "config.yaml is not a regular file";
  }
  SECTION("no configuration") {
    fs::remove(run.path + "/config.yaml");
    reason = "it has no config.yaml";
  }
  SECTION("a lock that is a link") {
    fs::remove(run.path + "/lock");
    fs::create_symlink("/dev/zero", run.path + "/lock");
    reason = "it is a symbolic link";
  }
  SECTION("a journal that is none") {
    write_text(run.path + "/journal", "forked?" + std::string(10'000, 'x'));
    CHECK(read_run_record(run.path).state == RunState::kDamaged);
    reason = "is not a journal";
  }
  SECTION("a checkpoint without progress, of a run without an end") {
    fs::remove(run.path + "/summary.json");
    write_text(run.checkpoint(2) + "/run.json", "[]");
    reason = "its run.json has no progress";
  }
  SECTION("folders in folders without end") {
    std::string path = run.path;
    for (int i = 0; i < 20; ++i) path += "/deeper";
    fs::create_directories(path);
    reason = "nested more than 8 deep";
  }
  const auto record = read_run_record(run.path);
  CHECK(record.state == RunState::kDamaged);
  CHECK_THAT(record.reason, ContainsSubstring(reason));
}

TEST_CASE("telemetry of any bytes is harmless, and its end is read within a limit") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const std::string text =
      GENERATE(as<std::string>{}, "", "\n\n\n", "no packet\n", std::string(100'000, 'x'), std::string(100'000, '['),
               std::string(50'000, '[') + "\n", "\"timestamp\":\"2026-99-99T99:99:99.0Z\" tolaria.epochs.total\n",
               R"({"timestamp":"2026-01-01T00:00:00Z","events":[1,{"description":7}],"metrics":{"a":1}})"
               "\n");
  write_text(run.path + "/telemetry.jsonl", text);
  CHECK(read_run_record(run.path).state == RunState::kInterrupted);
  std::ofstream(run.path + "/telemetry.jsonl", std::ios::app) << "\n";
  run.report_epoch(3, 0.1, 0.9, 3);
  CHECK(read_run_record(run.path).epochs == 3);
  fs::resize_file(run.path + "/telemetry.jsonl", 1ull << 40);  // zeros behind it
  CHECK(read_run_record(run.path).epochs == 2);                // the checkpoint's
}

TEST_CASE("a run reads on in its telemetry's earlier files") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  fs::rename(run.path + "/telemetry.jsonl", run.path + "/telemetry-000001.jsonl");
  write_text(run.path + "/telemetry.jsonl", "");
  const auto record = read_run_record(run.path);
  CHECK(record.started_ms == 1'800'000'000'000);
  CHECK(record.version == "1.2.3");
  CHECK(record.last.epoch == 2);
}

TEST_CASE("a run whose first telemetry was deleted did not start where the rest begins") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  fs::remove(run.path + "/telemetry.jsonl");
  run.add_epoch(3, 0.1, 0.9);
  fs::rename(run.path + "/telemetry.jsonl", run.path + "/telemetry-000002.jsonl");
  run.add_epoch(4, 0.1, 0.9);
  CHECK(read_run_record(run.path).started_ms != 1'800'000'003'000);
  fs::rename(run.path + "/telemetry-000002.jsonl", run.path + "/telemetry-000001.jsonl");
  CHECK(read_run_record(run.path).started_ms == 1'800'000'003'000);
}

}  // namespace esper::runs::read_run_record_test
