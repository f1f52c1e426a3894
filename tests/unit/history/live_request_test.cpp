#include "history/live_request.h"

#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "storage/file_tools.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::live_request_test {

using namespace esper;
using namespace esper::history;

namespace {

constexpr char kLr[] = "training.optimizer.lr";
const std::string kRun = "/run";

FieldChange rate_change(base::FileSystem& files, const std::string& value) {
  config::RunConfig own;
  own.training.optimizer.lr = 1;
  const auto changes = changes_to_request(files, kRun, own, {std::string(kLr) + "=" + value});
  REQUIRE(changes.size() == 1);
  return changes.front();
}

}  // namespace

TEST_CASE("a run gets epochs by the command that changed them last: esper set, once the run accepted some from it") {
  const SettingChange rate{3, "training.optimizer.lr", "0.01", 1}, epochs{4, "epochs", "9", 2};
  CHECK(command_for_epochs("runs/a", {}) == "esper train --resume runs/a --set epochs=N");
  CHECK(command_for_epochs("runs/a", {rate}) == "esper train --resume runs/a --set epochs=N");
  CHECK(command_for_epochs("runs/a", {epochs, rate}) == "esper set runs/a epochs=N");
}

TEST_CASE("settings are compared with what a run will have once it accepted the requests that lie there") {
  FaultyFileSystem files;
  storage::ensure_folder(files, kRun);
  CHECK(rate_change(files, "0.5").before == "1");
  publish_request(files, kRun, {{kLr, "0.25"}});
  CHECK(rate_change(files, "0.5").before == "0.25");
}

TEST_CASE("a request that the training takes after it was listed is no error") {
  FaultyFileSystem files;
  storage::ensure_folder(files, kRun);
  publish_request(files, kRun, {{kLr, "0.25"}});
  files.fail_call(3, ENOENT);  // the request is opened, after its folder was looked at and listed
  CHECK(rate_change(files, "0.5").after == "0.5");
  CHECK(files.fault_happened());
}

TEST_CASE("a request that was accepted, and lies there still, does not count after later ones") {
  FaultyFileSystem files;
  storage::ensure_folder(files, kRun);
  publish_request(files, kRun, {{kLr, "0.25"}});
  publish_accepted(files, kRun, {{2, kLr, "0.25", 1}, {2, kLr, "0.125", 2}});
  CHECK(rate_change(files, "0.5").before == "0.125");
}

}  // namespace esper::test::live_request_test
