#include "history/live_request.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::live_request_test {

using namespace esper;
using namespace esper::history;

TEST_CASE("a run gets epochs by the command that changed them last: esper set, once the run accepted some from it") {
  const SettingChange rate{3, "training.optimizer.lr", "0.01", 1}, epochs{4, "epochs", "9", 2};
  CHECK(command_for_epochs("runs/a", {}) == "esper train --resume runs/a --set epochs=N");
  CHECK(command_for_epochs("runs/a", {rate}) == "esper train --resume runs/a --set epochs=N");
  CHECK(command_for_epochs("runs/a", {epochs, rate}) == "esper set runs/a epochs=N");
}

}  // namespace esper::test::live_request_test
