#include "history/setting_change.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "storage/file_tools.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::setting_change_test {

using namespace esper;
using namespace esper::history;
using test::FaultyFileSystem;

namespace {

constexpr char kLr[] = "training.optimizer.lr";
const std::string kRun = "/run";

struct Disk {
  FaultyFileSystem files;
  Disk() { storage::ensure_folder(files, kRun); }
};

}  // namespace

TEST_CASE("accepted changes are read back as they were published") {
  Disk disk;
  CHECK(accepted_changes(disk.files, kRun).empty());
  const SettingChanges changes{{3, kLr, "0.01", 1}, {5, "checkpoint.every", "7 steps", 2}};
  publish_accepted(disk.files, kRun, changes);
  CHECK(accepted_changes(disk.files, kRun) == changes);
}

TEST_CASE("a list of accepted changes that is damaged is an error, never an empty list") {
  Disk disk;
  publish_accepted(disk.files, kRun, {{3, kLr, "0.01", 1}});
  for (const char* text :
       {"", "{", "[]", "{}", R"({"changes": 3})", R"({"changes": [{"epoch": 0, "field": "epochs", "value": "3"}]})",
        R"({"changes": [{"epoch": 1, "field": "seed", "value": "3"}]})", R"({"changes": [{"epoch": -1}]})"}) {
    CAPTURE(text);
    disk.files.put("/run/changes/accepted.json", text);
    CHECK_THROWS_AS(accepted_changes(disk.files, kRun), base::Error);
  }
}

TEST_CASE("a list of accepted changes with a number of epochs that no run can have is damaged") {
  Disk disk;
  for (const char* epochs : {"1", "1000000"}) {
    const SettingChanges changes{{3, "epochs", epochs, 1}};
    publish_accepted(disk.files, kRun, changes);
    CHECK(accepted_changes(disk.files, kRun) == changes);
  }
  for (const char* epochs : {"0", "-3", "1000001", "1e300", "3.5", "", "three"}) {
    CAPTURE(epochs);
    publish_accepted(disk.files, kRun, {{3, "epochs", "9", 1}, {5, "epochs", epochs, 2}});
    try {
      accepted_changes(disk.files, kRun);
      FAIL("read");
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kCheckpoint);
      const std::string reason =
          std::string("epochs is \"") + epochs + "\", not a whole number from 1 to 1000000; the run cannot continue";
      CHECK(std::string(error.what()).find("/run/changes/accepted.json is damaged: " + reason) != std::string::npos);
    }
  }
}

TEST_CASE("a file in place of the folder of changes is damage, and not a run without changes") {
  Disk disk;
  disk.files.put("/run/changes", "");
  try {
    accepted_changes(disk.files, kRun);
    FAIL("read");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    CHECK(std::string(error.what()).find("/run/changes is damaged: it is not a folder;") != std::string::npos);
  }
}

TEST_CASE("a folder in place of the list of accepted changes is damage") {
  Disk disk;
  storage::ensure_folder(disk.files, "/run/changes/accepted.json");
  try {
    accepted_changes(disk.files, kRun);
    FAIL("read");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    CHECK(std::string(error.what()).find("/run/changes/accepted.json is damaged: it is a folder;") !=
          std::string::npos);
  }
}

TEST_CASE("a list of accepted changes that is too large to be one is damaged, too") {
  Disk disk;
  publish_accepted(disk.files, kRun, {{3, kLr, "0.01", 1}});
  disk.files.put("/run/changes/accepted.json", std::string((8 << 20) + 1, ' '));
  try {
    accepted_changes(disk.files, kRun);
    FAIL("read");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    CHECK(std::string(error.what()).find("accepted.json is damaged: it is too large;") != std::string::npos);
  }
}

TEST_CASE("an epoch's settings are the run's own with the changes up to it, the last accepted one first") {
  config::RunConfig own;
  own.training.optimizer.lr = 1;
  const SettingChanges changes{{3, kLr, "0.5", 1}, {5, kLr, "0.25", 2}, {4, kLr, "0.125", 3}};
  const auto lr = [&](std::uint32_t epoch) { return settings_at(own, changes, epoch).training.optimizer.lr; };
  CHECK(lr(2) == 1);
  CHECK(lr(3) == 0.5);
  CHECK(lr(4) == 0.125);
  CHECK(lr(9) == 0.125);
  CHECK_THROWS_AS(settings_at(own, {{1, kLr, "fast", 1}}, 1), base::Error);
}

TEST_CASE("requests lie there by number, and each has a number of its own") {
  Disk disk;
  CHECK(pending_requests(disk.files, kRun).empty());
  CHECK(publish_request(disk.files, kRun, {{kLr, "1"}}).path == "/run/changes/request-0001.json");
  CHECK(publish_request(disk.files, kRun, {{kLr, "2"}}).number == 2);
  disk.files.put("/run/changes/request-12x.json", "{}");
  disk.files.put("/run/changes/request-.json", "{}");
  disk.files.put("/run/changes/request-0.json", "{}");
  const auto pending = pending_requests(disk.files, kRun);
  REQUIRE(pending.size() == 2);
  CHECK(read_request(disk.files, pending[1]).value() == RequestedSettings{{kLr, "2"}});
  // Neither one that was put aside nor an accepted one gives its number away.
  set_aside(disk.files, pending[1]);
  disk.files.remove(pending[0].path);
  CHECK(disk.files.contents("/run/changes/refused-0002.json"));
  publish_accepted(disk.files, kRun, {{2, kLr, "1", 1}, {2, kLr, "1", 6}});
  CHECK(publish_request(disk.files, kRun, {{kLr, "3"}}).number == 7);
}

TEST_CASE("a request that is no request is a failure with a reason") {
  Disk disk;
  storage::ensure_folder(disk.files, "/run/changes");
  const SettingRequest request{1, "/run/changes/request-0001.json"};
  for (const std::string& text : {std::string("no"), std::string("{}"), std::string(R"({"set": {"epochs": 3}})"),
                                  std::string(R"({"set": {"epochs": "3"}, "more": 1})"), std::string(1 << 17, ' ')}) {
    disk.files.put(request.path, text);
    CHECK_FALSE(read_request(disk.files, request).error_or("").empty());
  }
  disk.files.put(request.path, R"({"set": {"epochs": "3"}})");
  CHECK(read_request(disk.files, request).value() == RequestedSettings{{"epochs", "3"}});
}

TEST_CASE("a request whose process is killed is there as a whole or not at all, and the next one can be left") {
  for (int call = 1;; ++call) {
    Disk disk;
    disk.files.kill_at_call(call);
    bool whole = false;
    try {
      publish_request(disk.files, kRun, {{kLr, "0.5"}});
      whole = true;
    } catch (const test::ProcessKilled&) {
    }
    disk.files.restart();
    const auto pending = pending_requests(disk.files, kRun);
    for (const auto& request : pending) {
      CHECK(read_request(disk.files, request).value() == RequestedSettings{{kLr, "0.5"}});
    }
    publish_request(disk.files, kRun, {{kLr, "0.25"}});
    CHECK(pending_requests(disk.files, kRun).size() == pending.size() + 1);
    for (const auto& name : disk.files.names_in("/run/changes")) CHECK(name.find(".tmp-") == std::string::npos);
    if (whole) break;
    REQUIRE(call < 100);
  }
}

}  // namespace esper::test::setting_change_test
