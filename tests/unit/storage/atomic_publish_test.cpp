#include "storage/atomic_publish.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"
#include "unit/storage/fault_loop.h"

namespace esper::test::atomic_publish_test {

using namespace esper::storage;
using namespace esper::test;
using esper::base::IoError;
using esper::base::PathKind;

namespace {

const std::string kOld = "the old state";
const std::string kNew = "the new state, which is a little longer";
const nlohmann::json kFields = {{"step", 7}, {"config_hash", "abc"}};

std::vector<FolderFile> two_files() {
  return {{"state.safetensors",
           [](const ByteSink& sink) {
             sink(bytes_of("first piece, "));
             sink(bytes_of("second piece"));
           }},
          {"controller.json", [](const ByteSink& sink) { sink(bytes_of("{}")); }}};
}

FaultScenario file_scenario(const std::string& old) {
  return {[old](FaultyFileSystem& files) {
            if (!old.empty()) files.put("best.json", old);
          },
          [](FaultyFileSystem& files) { publish_file(files, "best.json", bytes_of(kNew)); },
          [old](FaultyFileSystem& files, Outcome outcome) {
            const std::string found = files.contents("best.json").value_or("");
            if (outcome == Outcome::kDone) {
              CHECK(found == kNew);
            } else {
              CHECK((found == old || found == kNew));
            }
            remove_leftovers(files, ".");
            CHECK(files.names_in(".") ==
                  (found.empty() ? std::vector<std::string>{} : std::vector<std::string>{"best.json"}));
          }};
}

void check_folder(FaultyFileSystem& files) {
  const auto checked = verify_folder(files, "checkpoints/step-7");
  INFO(checked.error_or({}).problem);
  REQUIRE(checked);
  CHECK(checked->fields == kFields);
  CHECK(files.contents("checkpoints/step-7/state.safetensors") == "first piece, second piece");
  CHECK(files.contents("checkpoints/step-7/controller.json") == "{}");
}

FaultScenario folder_scenario() {
  return {[](FaultyFileSystem& files) {
            files.make_folder("checkpoints");
            files.sync_folder(".");
            publish_folder(files, "checkpoints/step-3", two_files(), {{"step", 3}});
          },
          [](FaultyFileSystem& files) { publish_folder(files, "checkpoints/step-7", two_files(), kFields); },
          [](FaultyFileSystem& files, Outcome outcome) {
            CHECK(verify_folder(files, "checkpoints/step-3"));
            remove_leftovers(files, "checkpoints");
            const auto names = files.names_in("checkpoints");
            if (names.size() == 1) {
              CHECK(outcome != Outcome::kDone);
            } else {
              CHECK(names == std::vector<std::string>{"step-3", "step-7"});
              check_folder(files);
            }
          }};
}

}  // namespace

TEST_CASE("publishing a file leaves the old or the new one when any call fails") {
  fail_every_call(file_scenario(kOld));
  fail_every_call(file_scenario(""));
}

TEST_CASE("publishing a file leaves the old or the new one when killed anywhere") {
  kill_at_every_call(file_scenario(kOld));
  kill_at_every_call(file_scenario(""));
}

TEST_CASE("publishing a file leaves the old or the new one when power is lost anywhere") {
  lose_power_at_every_call(file_scenario(kOld));
  lose_power_at_every_call(file_scenario(""));
}

TEST_CASE("publishing a folder leaves all of it or nothing when any call fails") { fail_every_call(folder_scenario()); }

TEST_CASE("publishing a folder leaves all of it or nothing when killed anywhere") {
  kill_at_every_call(folder_scenario());
}

TEST_CASE("publishing a folder leaves all of it or nothing when power is lost anywhere") {
  lose_power_at_every_call(folder_scenario());
}

TEST_CASE("a single failure leaves no temporary behind") {
  for (int n = 1;; ++n) {
    FaultyFileSystem files;
    folder_scenario().prepare(files);
    files.fail_call(n, EIO);
    const Outcome outcome = outcome_of(folder_scenario(), files);
    if (!files.fault_happened()) break;
    INFO("call " << n << ", " << name_of(outcome));
    for (const auto& name : files.names_in("checkpoints")) CHECK(name.find(".tmp-") == std::string::npos);
  }
}

TEST_CASE("a disk that fills at any byte stops the save, leaves nothing half written, and works again with room") {
  FaultyFileSystem whole;
  folder_scenario().prepare(whole);
  const std::uint64_t before = UINT64_MAX - whole.free_bytes(".");
  publish_folder(whole, "checkpoints/step-7", two_files(), kFields);
  const std::uint64_t needed = UINT64_MAX - whole.free_bytes(".") - before;
  REQUIRE(needed > 100);
  for (std::uint64_t room = 0; room < needed; ++room) {
    FaultyFileSystem files;
    folder_scenario().prepare(files);
    files.limit_bytes(before + room);
    try {
      publish_folder(files, "checkpoints/step-7", two_files(), kFields);
      FAIL("published with room for " << room << " of " << needed);
    } catch (const IoError& error) {
      CHECK(error.out_of_space());
    }
    CHECK(files.names_in("checkpoints") == std::vector<std::string>{"step-3"});
    files.limit_bytes(before + needed);
    publish_folder(files, "checkpoints/step-7", two_files(), kFields);
    check_folder(files);
  }
}

TEST_CASE("short writes are completed") {
  FaultyFileSystem files;
  folder_scenario().prepare(files);
  files.limit_write(1);
  publish_folder(files, "checkpoints/step-7", two_files(), kFields);
  check_folder(files);
}

TEST_CASE("a published folder is never replaced") {
  FaultyFileSystem files;
  folder_scenario().prepare(files);
  publish_folder(files, "checkpoints/step-7", two_files(), kFields);
  CHECK_THROWS_AS(publish_folder(files, "checkpoints/step-7", {}, {{"step", 8}}), IoError);
  check_folder(files);
  files.make_folder("checkpoints/empty");
  CHECK_THROWS_AS(publish_folder(files, "checkpoints/empty", {}, {}), IoError);
}

TEST_CASE("what is removed is there whole or not at all, whatever fails") {
  const FaultScenario scenario = {[](FaultyFileSystem& files) {
                                    folder_scenario().prepare(files);
                                    publish_folder(files, "checkpoints/step-7", two_files(), kFields);
                                  },
                                  [](FaultyFileSystem& files) { remove_published(files, "checkpoints/step-7"); },
                                  [](FaultyFileSystem& files, Outcome outcome) {
                                    const bool there = files.kind_of("checkpoints/step-7") != PathKind::kNothing;
                                    if (outcome == Outcome::kDone) CHECK_FALSE(there);
                                    if (there) check_folder(files);
                                    remove_leftovers(files, "checkpoints");
                                    CHECK(files.names_in("checkpoints").size() == (there ? 2 : 1));  // step-3 stays
                                    CHECK_NOTHROW(remove_published(files, "checkpoints/step-7"));
                                    CHECK_NOTHROW(remove_published(files, "checkpoints/step-7"));
                                  }};
  fail_every_call(scenario);
  kill_at_every_call(scenario);
  lose_power_at_every_call(scenario);
}

TEST_CASE("where nothing can be removed, nothing to remove is no error; anything else is") {
  FaultyFileSystem files;
  files.put("there", "");
  files.fail_call(1, EROFS);
  CHECK_NOTHROW(remove_all(files, "nothing"));
  CHECK(files.fault_happened());
  files.fail_call(1, EROFS);
  CHECK_THROWS_AS(remove_all(files, "there"), base::IoError);
}

TEST_CASE("nothing is no error to remove, in no folder either") {
  FaultyFileSystem files;
  CHECK_NOTHROW(remove_published(files, "nowhere/nothing"));
}

TEST_CASE("small and large pieces come into the file in the order given, and are hashed so") {
  FaultyFileSystem files;
  std::string whole;
  const auto pieces = [&](const ByteSink& sink) {
    for (const std::size_t bytes : {1, 70'000, 3, 65'536, 65'535, 1, 2, 200'000, 5}) {
      const std::string piece(bytes, static_cast<char>('a' + whole.size() % 26));
      whole += piece;
      sink(bytes_of(piece));
    }
  };
  const auto manifest = publish_folder(files, "folder", {{"pieces", pieces}}, {});
  CHECK(*files.contents("folder/pieces") == whole);
  CHECK(manifest.files.front().xxh3_64 == hex64(hash64(bytes_of(whole))));
  CHECK(verify_folder(files, "folder"));
}

TEST_CASE("a producer that throws leaves the old state") {
  FaultyFileSystem files;
  files.put("best.json", kOld);
  const WriteContents broken = [](const ByteSink& sink) {
    sink(bytes_of("half"));
    throw std::runtime_error("no more");
  };
  CHECK_THROWS_AS(publish_file(files, "best.json", broken), std::runtime_error);
  CHECK_THROWS_AS(publish_folder(files, "new", {{"a", broken}}, {}), std::runtime_error);
  CHECK(files.names_in(".") == std::vector<std::string>{"best.json"});
  CHECK(files.contents("best.json") == kOld);
}

TEST_CASE("leftovers of dead processes and of this one go, those of the living and other names stay") {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  REQUIRE(::waitpid(dead, nullptr, 0) == dead);
  const std::string gone = "step-9.tmp-" + std::to_string(dead);
  const std::string mine = "best.json.tmp-" + std::to_string(::getpid());
  const std::string living = "step-9.tmp-" + std::to_string(::getppid());
  FaultyFileSystem files;
  files.make_folder("c");
  files.make_folder("c/" + gone);
  files.put("c/" + gone + "/state", "half");
  for (const auto& name : {mine, living, std::string("x.tmp-"), std::string("x.tmp-12a"), std::string("x.tmp--5")}) {
    files.put("c/" + name, "");
  }
  CHECK(remove_leftovers(files, "c") == std::vector<std::string>{mine, gone});
  CHECK(files.names_in("c") == std::vector<std::string>{living, "x.tmp-", "x.tmp--5", "x.tmp-12a"});
}

TEST_CASE("publishing works on a real disk") {
  TemporaryFolder folder;
  auto& files = real_file_system();
  publish_file(files, folder / "best.json", bytes_of(kOld));
  publish_file(files, folder / "best.json", bytes_of(kNew));
  const auto manifest = publish_folder(files, folder / "step-7", two_files(), kFields);
  CHECK(manifest.files.size() == 2);
  const auto checked = verify_folder(files, folder / "step-7");
  INFO(checked.error_or({}).problem);
  REQUIRE(checked);
  CHECK(checked->fields == kFields);
  CHECK(checked->files[0].bytes == 25);
  CHECK(files.list(folder.path()).size() == 2);
}

}  // namespace esper::test::atomic_publish_test
