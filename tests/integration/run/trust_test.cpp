// A run folder from elsewhere: nothing in it leads outside it, and nothing in the current folder is run.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::trust_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// A run of two epochs, a file and a folder elsewhere that must stay as they are, and all that reads or writes a run.
struct TrustRoom : RunRoom {
  fs::path run_folder = run("run"), victim = path / "victim", victims = path / "victims";
  std::string config = write("small.yaml", growing_config());

  TrustRoom() {
    REQUIRE(train(config, run_folder, {"epochs=2"}).exit_code == 0);
    fs::create_directories(victims / "epoch-0001-step-000000008");
    for (const auto& file : {victim, victims / "epoch-0001-step-000000008" / "file"}) std::ofstream(file) << "precious";
  }
  void check_unharmed() const {
    CHECK(contents_of(victim) == "precious");
    CHECK(contents_of(victims / "epoch-0001-step-000000008" / "file") == "precious");
    CHECK(std::distance(fs::directory_iterator(victims), fs::directory_iterator()) == 1);
  }
  // Ends in time, without a signal, and names the path.
  void check_refused(const Words& arguments, const fs::path& name) const {
    CAPTURE(arguments);
    const Finished finished = run_program(Words{binary()} + arguments, {}, 30s);
    INFO(finished.out << finished.err);
    CHECK_FALSE(finished.timed_out);
    CHECK((finished.exit_code == 2 || finished.exit_code == 5));
    CHECK_THAT(finished.out + finished.err, ContainsSubstring(name) && ContainsSubstring("remove it"));
    check_unharmed();
  }
  Words resuming() const { return {"train", "--resume", run_folder, "--set", "epochs=3"}; }
};

// Puts something else in the place of what lies there, for one check.
struct Replaced {
  fs::path place, aside;
  explicit Replaced(const fs::path& at) : place(at), aside(at.string() + "-aside") { fs::rename(place, aside); }
  ~Replaced() {
    fs::remove_all(place);
    fs::rename(aside, place);
  }
};

}  // namespace

TEST_CASE("no link in a run folder is followed: not to write, not to read, not to delete") {
  const TrustRoom room;
  const fs::path& run = room.run_folder;
  const fs::path checkpoint = run / "checkpoints" / checkpoints_of(run).back();
  for (const char* name : {"lock", "journal", "telemetry.jsonl", "config.yaml"}) {
    const Replaced replaced(run / name);
    fs::create_symlink(room.victim, run / name);
    room.check_refused(room.resuming(), run / name);
  }
  for (const char* name : {"config.yaml", "checkpoints"}) {
    const Replaced replaced(run / name);
    fs::create_symlink(name == std::string("checkpoints") ? room.victims : room.victim, run / name);
    room.check_refused({"evaluate", run}, run / name);
    room.check_refused({"fork", run.string() + "@8", "--run-dir", room.path / "fork"}, run / name);
  }
  {
    const Replaced replaced(run / "checkpoints");
    fs::create_directory_symlink(room.victims, run / "checkpoints");
    room.check_refused(room.resuming(), run / "checkpoints");
  }
  {
    const Replaced replaced(checkpoint);
    fs::create_directory_symlink(room.victims / "epoch-0001-step-000000008", checkpoint);
    room.check_refused({"evaluate", run}, checkpoint);
  }
  for (const char* name : {"manifest.json", "preprocessing.json", "run.json", "state.safetensors"}) {
    if (!fs::exists(checkpoint / name)) continue;
    const Replaced replaced(checkpoint / name);
    fs::create_symlink(room.victim, checkpoint / name);
    room.check_refused({"evaluate", run}, checkpoint / name);
  }
  for (const char* name : {"telemetry.jsonl", "summary.json", "config.yaml"}) {
    const Replaced replaced(run / name);
    fs::create_symlink(room.victim, run / name);
    room.check_refused({"why-slow", run}, run / name);
  }
  {
    const Replaced replaced(run / "journal");
    fs::create_symlink(room.victim, run / "journal");
    room.check_refused({"topo", "show", run}, run / "journal");
  }
  CHECK(resume(run, {"epochs=3"}).exit_code == 0);
}

TEST_CASE("a linked checkpoint is passed over under its name; where none is left the reason is told") {
  const TrustRoom room;
  const fs::path folder = room.run_folder / "checkpoints";
  const auto link = [&](const std::string& name) {
    fs::remove_all(folder / name);
    fs::create_directory_symlink(room.victims / "epoch-0001-step-000000008", folder / name);
  };
  const auto names = checkpoints_of(room.run_folder);
  link(names.back());
  const Finished finished = resume(room.run_folder, {"epochs=3"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  const auto refused = events_of(room.run_folder, "tolaria.checkpoint_refused");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0]["attributes"]["path"] == (folder / names.back()).string());
  CHECK_THAT(refused[0]["attributes"]["reason"].get<std::string>(),
             ContainsSubstring("symbolic link") && ContainsSubstring("put a folder of this user"));
  CHECK_FALSE(fs::is_symlink(folder / (names.back() + ".bad")));
  CHECK(fs::is_symlink(folder / (names.back() + ".unread")));  // the run saved that step again
  room.check_unharmed();

  for (const auto& name : checkpoints_of(room.run_folder)) link(name);
  const Finished none = resume(room.run_folder, {"epochs=4"});
  CHECK(none.exit_code == 5);
  CHECK_THAT(none.out, ContainsSubstring(names.front()) && ContainsSubstring("symbolic link"));
  CHECK(fs::is_symlink(folder / names.front()));
  room.check_unharmed();
}

TEST_CASE("a folder in the place of a run's file is refused with the way out") {
  const TrustRoom room;
  const std::string text = " cannot be used: it is a folder, not a regular file; move or remove it";
  for (const char* name : {"lock", "telemetry.jsonl"}) {
    const fs::path place = room.run_folder / name;
    const Replaced replaced(place);
    fs::create_directory(place);
    const Finished finished = run_program(Words{binary()} + room.resuming(), {}, 30s);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(place.string() + text));
  }
}

TEST_CASE("every command says the same of a run folder whose config.yaml is no file") {
  const TrustRoom room;
  const std::string run = room.run_folder, config = run + "/config.yaml";
  const std::string kind = GENERATE("folder", "pipe");
  const Replaced replaced{fs::path(config)};
  REQUIRE((kind == "pipe" ? mkfifo(config.c_str(), 0600) : mkdir(config.c_str(), 0700)) == 0);
  for (const Words& words : {room.resuming(),
                             Words{"evaluate", run},
                             {"fork", run + "@8"},
                             {"why-slow", run},
                             {"topo", "log", run},
                             {"topo", "show", run},
                             {"receipt", run, "seed-0001"}}) {
    CAPTURE(words);
    const Finished finished = run_program(Words{binary()} + words, {}, 30s);
    CHECK(finished.exit_code == 2);
    CHECK(finished.err ==
          "esper: " + config + " cannot be used: it is a " + kind +
              ", not a regular file; move or remove it, or put a regular file of this user in its place\n");
  }
}

TEST_CASE("a link in the place of an earlier telemetry file is refused as one in telemetry.jsonl's is") {
  const TrustRoom room;
  const fs::path link = room.run_folder / "telemetry-000001.jsonl";
  fs::create_symlink(room.victim, link);
  room.check_refused({"why-slow", room.run_folder}, link);
  room.check_refused({"telemetry", "diff", room.run_folder, "table"}, link);
}

TEST_CASE("what a run rewrites replaces a link and leaves what it led to") {
  const TrustRoom room;
  const fs::path& run = room.run_folder;
  for (const char* name : {"summary.json", "trace.json"}) {
    fs::remove(run / name);
    fs::create_symlink(room.victim, run / name);
  }
  REQUIRE(run_program(Words{binary()} + room.resuming() + Words{"--trace", "--json"}).exit_code == 0);
  for (const char* name : {"summary.json", "trace.json"}) CHECK(fs::is_regular_file(fs::symlink_status(run / name)));
  room.check_unharmed();
}

TEST_CASE("pipes, and files with a second name elsewhere, are refused in a run folder; nothing waits") {
  const TrustRoom room;
  for (const char* name : {"lock", "journal", "telemetry.jsonl", "config.yaml"}) {
    const Replaced replaced(room.run_folder / name);
    REQUIRE(mkfifo((room.run_folder / name).c_str(), 0600) == 0);
    const Finished finished = run_program(Words{binary()} + room.resuming(), {}, 30s);
    INFO(name << ": " << finished.out << finished.err);
    CHECK_FALSE(finished.timed_out);
    CHECK(finished.exit_code == 2);
  }
  for (const char* name : {"lock", "journal", "telemetry.jsonl"}) {
    const Replaced replaced(room.run_folder / name);
    fs::create_hard_link(room.victim, room.run_folder / name);
    const Finished finished = run_program(Words{binary()} + room.resuming(), {}, 30s);
    INFO(name << ": " << finished.out << finished.err);
    CHECK((finished.exit_code == 2 || finished.exit_code == 5));
    room.check_unharmed();
  }
  CHECK(resume(room.run_folder, {"epochs=3"}).exit_code == 0);
}

TEST_CASE("the folder of compiled programs is not taken from a run folder, and an old run goes on without it") {
  const TrustRoom room;
  const fs::path config = room.run_folder / "config.yaml";
  std::string text = contents_of(config);
  const auto at = text.find("cache_limit_mb:");
  REQUIRE(at != std::string::npos);
  text.insert(at, "cache_dir: " + (room.path / "theirs").string() + "\n    ");
  std::ofstream(config) << text;
  const Finished resumed = resume(room.run_folder, {"epochs=3"});
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("cache_dir") && ContainsSubstring("--cache-dir"));
  CHECK(resumed.err.find("cache_dir", resumed.err.find("cache_dir") + 1) == std::string::npos);  // once
  CHECK_FALSE(fs::exists(room.path / "theirs"));
  CHECK(contents_of(config).find("cache_dir") == std::string::npos);
}

namespace {

// A program that decides, and leaves a file behind when it is started. Each user has a state folder of his own.
struct ProgramRoom : RunRoom {
  fs::path folder = run("run"), ran = path / "ran";
  std::string config = write("small.yaml", growing_config());
  std::string script =
      write("controller.py", "import sys; sys.path.insert(0, '" ESPER_SOURCE_DIR
                             "/configs/policy'); sys.dont_write_bytecode = True\nopen('" +
                                 ran.string() + "', 'a').write('x')\nimport controller\ncontroller.main()\n");

  Finished as_user(const std::string& user, const Words& arguments, const std::string& current = ".") const {
    fs::remove(ran);
    const Words shell = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", current, fs::absolute(binary())};
    return run_program(shell + arguments, {"XDG_STATE_HOME=" + (path / user).string()}, std::chrono::minutes(2));
  }
  void train_as(const std::string& user, const Words& policy) const {
    const Finished trained = as_user(user, Words{"train", "--config", config, "--run-dir", folder, "--set", "epochs=2",
                                                 "policy.command=[python3, " + script + "]"} +
                                               policy);
    INFO(trained.out << trained.err);
    REQUIRE(trained.exit_code == 0);
  }
  void check_refused(const std::string& user, const Words& command, const std::string& current = ".") const {
    CAPTURE(user, command);
    const Finished refused = as_user(user, command, current);
    INFO(refused.out << refused.err);
    CHECK(refused.exit_code == 7);
    CHECK_THAT(refused.err, ContainsSubstring("controller.py") && ContainsSubstring("--trust-program"));
    CHECK_FALSE(fs::exists(ran));
  }
  void check_started(const std::string& user, const Words& command) const {
    CAPTURE(user, command);
    const Finished finished = as_user(user, command);
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(fs::exists(ran));
  }
};

}  // namespace

TEST_CASE("a program that a run folder names as its policy is started where its user named it before, or trusts it") {
  const ProgramRoom room;
  room.train_as("alice", {"policy.kind=process"});
  const fs::path& run = room.folder;
  const auto step = state_of(run, checkpoints_of(run).back())["progress"]["step"].get<int>();
  const std::vector<Words> commands = {
      {"train", "--resume", run, "--set", "epochs=3"},
      {"fork", run.string() + "@" + std::to_string(step), "--run-dir", room.run("fork"), "--set", "epochs=3"},
      {"policy", "replay", run},
      {"policy", "swap", run, "--policy", "process"}};
  for (const Words& command : commands) room.check_refused("bob", command);
  CHECK_FALSE(fs::exists(room.run("fork")));
  // The run's own copy of the file is not the user's.
  room.check_refused("bob", {"train", "--config", run / "config.yaml", "--run-dir", room.run("again")});
  // Nor where nothing else of the run is left.
  fs::create_directories(room.path / "bare");
  fs::copy_file(run / "config.yaml", room.path / "bare" / "config.yaml");
  room.check_refused("bob", {"train", "--config", room.path / "bare" / "config.yaml", "--run-dir", room.run("again")});
  // In another folder a relative path is another program.
  room.check_refused("alice", {"policy", "replay", fs::absolute(run)}, room.path);
  for (const Words& command : commands) room.check_started("alice", command);
  // Trusted once, it is known.
  room.check_started("bob", {"policy", "replay", run, "--trust-program"});
  room.check_started("bob", {"policy", "replay", run});
  room.check_started("carol", {"train", "--resume", run, "--trust-program", "--set", "epochs=4"});
}

TEST_CASE("a fork that does not train starts no program, trusted or not; the resumed fork does, from its state") {
  const Words policy =
      GENERATE(Words{"policy.kind=process"}, Words{"policy.kind=ensemble", "policy.ensemble=[heuristic, process]"},
               Words{"policy.kind=ensemble", "policy.ensemble=[process, heuristic]"});
  CAPTURE(policy);
  const ProgramRoom room;
  room.train_as("alice", policy);
  const auto step = state_of(room.folder, checkpoints_of(room.folder).back())["progress"]["step"].get<int>();
  const auto fork = room.run("fork");
  const Finished made = room.as_user("bob", {"fork", room.folder.string() + "@" + std::to_string(step), "--run-dir",
                                             fork, "--set", "epochs=3", "--no-train"});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_FALSE(fs::exists(room.ran));
  CHECK(state_of(fork, checkpoints_of(fork).back())["controller"] ==
        state_of(room.folder, checkpoints_of(room.folder).back())["controller"]);
  room.check_refused("bob", {"train", "--resume", fork});
  room.check_started("alice", {"train", "--resume", fork});
}

TEST_CASE("a program that a run folder names without asking it is not started either") {
  const ProgramRoom room;
  room.train_as("alice", {"policy.kind=heuristic"});
  const auto out = (room.path / "taught.safetensors").string();
  room.check_refused("alice",
                     {"policy", "imitate", room.folder, "--teacher", "process", "--out", out, "--epochs", "1"});
  room.check_refused("alice", {"policy", "swap", room.folder, "--policy", "process"});
  room.check_started("alice", {"policy", "swap", room.folder, "--policy", "process", "--trust-program"});
}

TEST_CASE("a program that cannot be recorded as trusted is started where its user names it") {
  const ProgramRoom room;
  room.write("nobody", "a file, where the state folder would be");
  const Finished trained =
      room.as_user("nobody", {"train", "--config", room.config, "--run-dir", room.folder, "--set", "epochs=2",
                              "policy.kind=process", "policy.command=[python3, " + room.script + "]"});
  INFO(trained.out << trained.err);
  CHECK(trained.exit_code == 0);
  CHECK(fs::exists(room.ran));
  CHECK_THAT(trained.err, ContainsSubstring("could not be recorded as trusted"));
  room.check_refused("nobody", {"policy", "replay", room.folder});
}

TEST_CASE("no file of the current folder is run as Python") {
  const RunRoom room;
  const fs::path ran = room.path / "ran";
  for (const char* name : {"platform.py", "importlib.py", "torch.py", "sitecustomize.py", "usercustomize.py"}) {
    room.write(name, "open(" + nlohmann::json(ran.string()).dump() + ", 'a').write(__file__ + '\\n')\n");
  }
  const auto here = room.path.string();
  const auto in_folder = [&](const Words& arguments, const Words& environment) {
    const Words shell = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", here, fs::absolute(binary())};
    return run_program(shell + arguments, environment, std::chrono::minutes(5));
  };
  for (const Words& environment : {Words{}, Words{"PYTHONPATH=.:" + here, "PYTHONSTARTUP=" + here + "/torch.py"}}) {
    const Finished finished = in_folder({"doctor", "--json"}, environment);
    REQUIRE(finished.exit_code == 0);
    INFO(contents_of(ran));
    CHECK_FALSE(fs::exists(ran));
  }
  const Finished measured = in_folder({"bench", "--scenario", "mlp", "--lanes", "eager", "--peer", "python", "--rounds",
                                       "3", "--epochs", "3", "--json"},
                                      {"PYTHONPATH=" + here});
  INFO(measured.err << contents_of(ran));
  CHECK(measured.exit_code == 0);
  CHECK_FALSE(fs::exists(ran));
}

}  // namespace esper::test::trust_test
