// Checkpoints that are damaged, or belong elsewhere, as a user meets them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::damage_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const Words kShort = {"epochs=6"};

void flip_bit(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(middle);
  const char byte = static_cast<char>(stream.get() ^ 0x10);
  stream.seekp(middle);
  stream.put(byte);
}

void cut(const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); }
void empty(const fs::path& file) { fs::resize_file(file, 0); }
void lose(const fs::path& file) { fs::remove(file); }

struct Damage {
  const char* file;
  void (*harm)(const fs::path&);
};

}  // namespace

TEST_CASE("a damaged checkpoint is put aside, the one before it is used, and the run ends as it would have") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const auto whole = record_of(room.run("run"));
  const auto names = checkpoints_of(room.run("run"));
  const Damage damages[] = {
      {"state.safetensors", flip_bit}, {"state.safetensors", cut}, {"run.json", flip_bit}, {"manifest.json", empty}};
  for (const auto& damage : damages) {
    CAPTURE(damage.file);
    damage.harm(room.run("run") / "checkpoints" / names.back() / damage.file);
    const Finished finished = resume(room.run("run"));
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    check_equal(record_of(room.run("run")), whole);
    CHECK(fs::exists(room.run("run") / "checkpoints" / (names.back() + ".bad")));
    const auto refused = events_of(room.run("run"), "tolaria.checkpoint_refused");
    REQUIRE_FALSE(refused.empty());
    CHECK(refused.back()["attributes"]["path"].get<std::string>().find(names.back() + ".bad") != std::string::npos);
    CHECK_FALSE(refused.back()["attributes"]["reason"].get<std::string>().empty());
    CHECK(events_of(room.run("run"), "tolaria.resumed")
              .back()["attributes"]["checkpoint"]
              .get<std::string>()
              .ends_with(names[names.size() - 2]));
  }
}

TEST_CASE("a checkpoint that lacks a file keeps its name until the run needs it, and is not called damaged") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const auto whole = record_of(room.run("run"));
  const auto last = checkpoints_of(room.run("run")).back();
  lose(room.run("run") / "checkpoints" / last / "run.json");
  REQUIRE(resume(room.run("run")).exit_code == 0);
  check_equal(record_of(room.run("run")), whole);
  CHECK(fs::exists(room.run("run") / "checkpoints" / (last + ".unread")));
  CHECK_FALSE(fs::exists(room.run("run") / "checkpoints" / (last + ".bad")));
  const auto refused = events_of(room.run("run"), "tolaria.checkpoint_refused");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0]["attributes"]["path"].get<std::string>().ends_with(last));
}

TEST_CASE("where every checkpoint is damaged the run says so and exits 5") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const auto names = checkpoints_of(room.run("run"));
  for (const auto& name : names) flip_bit(room.run("run") / "checkpoints" / name / "state.safetensors");
  const Finished finished = resume(room.run("run"));
  CHECK(finished.exit_code == 5);
  const auto text = nlohmann::json::parse(finished.out)["error"]["text"].get<std::string>();
  for (const auto& name : names) CHECK_THAT(text, ContainsSubstring(name));
  CHECK_THAT(text, ContainsSubstring("state.safetensors is damaged"));
  CHECK(run_esper({"evaluate", room.run("run")}).exit_code == 5);

  // They have another name now; the run still does not begin again in the place of the one that was trained.
  const auto before = contents_of(room.run("run") / "telemetry.jsonl");
  const Finished again = resume(room.run("run"));
  CHECK(again.exit_code == 5);
  CHECK_THAT(nlohmann::json::parse(again.out)["error"]["text"].get<std::string>(),
             ContainsSubstring("had checkpoints") && ContainsSubstring("esper train --config"));
  CHECK(contents_of(room.run("run") / "telemetry.jsonl") == before);
  for (const Words& words : {Words{"evaluate", room.run("run")},
                             {"fork", room.run("run").string() + "@8"},
                             {"train", "--dry-run", "--resume", room.run("run")}}) {
    const Finished other = run_esper(words);
    CHECK(other.exit_code == 5);
    CHECK_THAT(other.err, ContainsSubstring("had checkpoints") && ContainsSubstring("esper train --config"));
  }
}

TEST_CASE("checkpoints that cannot be read keep their names, and the run goes on once they can be") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const auto whole = record_of(room.run("run"));
  const auto names = checkpoints_of(room.run("run"));
  const auto state_of_one = [&](const std::string& name) {
    return room.run("run") / "checkpoints" / name / "state.safetensors";
  };
  for (const auto& name : names) {  // a folder in the file's place: root reads whatever permissions say
    fs::rename(state_of_one(name), room.path / name);
    fs::create_directory(state_of_one(name));
  }
  for (int time = 0; time < 2; ++time) {
    const Finished finished = resume(room.run("run"));
    CHECK(finished.exit_code == 5);
    CHECK_THAT(nlohmann::json::parse(finished.out)["error"]["text"].get<std::string>(),
               ContainsSubstring(names.back()) && ContainsSubstring("esper train --config"));
    CHECK(checkpoints_of(room.run("run")) == names);
  }
  for (const auto& name : names) {
    fs::remove(state_of_one(name));
    fs::rename(room.path / name, state_of_one(name));
  }
  REQUIRE(resume(room.run("run")).exit_code == 0);
  check_equal(record_of(room.run("run")), whole);
}

TEST_CASE("a run whose checkpoints were deleted does not begin again; one that never had any does") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const auto whole = record_of(room.run("run"));
  const std::string left = GENERATE("journal", "telemetry.jsonl", "summary.json", "nothing");
  CAPTURE(left);
  for (const std::string name : {"journal", "telemetry.jsonl", "summary.json"}) {
    if (name != left) fs::remove(room.run("run") / name);
  }
  fs::remove_all(room.run("run") / "checkpoints");
  const Finished finished = resume(room.run("run"));
  INFO(finished.out << finished.err);
  if (left != "nothing") {
    const std::string reason = left == "summary.json" ? "it has a summary.json" : "had checkpoints";
    CHECK(finished.exit_code == 5);
    CHECK_THAT(finished.out, ContainsSubstring(reason));
    CHECK(checkpoints_of(room.run("run")).empty());
    fs::remove_all(room.run("run") / "checkpoints");
    for (const Words& command :
         {Words{binary(), "evaluate", room.run("run")}, Words{binary(), "fork", room.run("run").string() + "@1"},
          Words{binary(), "train", "--dry-run", "--resume", room.run("run")}}) {
      const Finished other = run_program(command);
      CHECK(other.exit_code == 5);
      CHECK_THAT(other.err, ContainsSubstring(reason));
    }
  } else {  // as where a process was killed before the first one
    CHECK(finished.exit_code == 0);
    check_equal(record_of(room.run("run")), whole);
  }
}

TEST_CASE("a file in the place of the checkpoints' folder is named") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  fs::remove_all(room.run("run") / "checkpoints");
  std::ofstream(room.run("run") / "checkpoints").flush();
  for (const Words& command : {resume_command(room.run("run"), {}), Words{binary(), "evaluate", room.run("run")},
                               Words{binary(), "fork", room.run("run").string() + "@1"}}) {
    const Finished finished = run_program(command);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.out + finished.err, ContainsSubstring("it is a regular file, not a folder"));
  }
}

TEST_CASE("a checkpoint of another network is refused, alone with exit 5, beside good ones by passing it over") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  REQUIRE(train(config, room.run("other"), kShort + perceptron()).exit_code == 0);
  const auto whole = record_of(room.run("run"));
  const auto last = whole.last_checkpoint;
  fs::remove_all(room.run("run") / "checkpoints" / last);
  fs::copy(room.run("other") / "checkpoints" / last, room.run("run") / "checkpoints" / last);

  SECTION("beside good ones") {
    REQUIRE(resume(room.run("run")).exit_code == 0);
    check_equal(record_of(room.run("run")), whole);
    const auto refused = events_of(room.run("run"), "tolaria.checkpoint_refused");
    REQUIRE(refused.size() == 1);
    CHECK_THAT(refused[0]["attributes"]["reason"].get<std::string>(), ContainsSubstring("another configuration"));
    CHECK(fs::exists(room.run("run") / "checkpoints" / (last + ".unread")));
  }
  SECTION("alone") {
    for (const auto& name : checkpoints_of(room.run("run"))) {
      if (name != last) fs::remove_all(room.run("run") / "checkpoints" / name);
    }
    const Finished finished = resume(room.run("run"));
    CHECK(finished.exit_code == 5);
    CHECK_THAT(finished.out, ContainsSubstring(last) && ContainsSubstring("another configuration"));
    CHECK(checkpoints_of(room.run("run")) == std::vector{last});
  }
  SECTION("asked for by its name") {
    const Finished finished = run_esper({"evaluate", room.run("run"), "--checkpoint", last});
    CHECK(finished.exit_code == 5);
    CHECK_THAT(finished.err, ContainsSubstring("does not fit this configuration"));
  }
}

}  // namespace esper::test::damage_test
