#include "history/growth/checkpoint_list.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::history::checkpoint_list_test {

TEST_CASE("a checkpoint's name says its epoch and step, and no other name is one") {
  CHECK(checkpoint_name(3, 120) == "epoch-0003-step-000000120");
  const auto entry = checkpoint_entry("/run/checkpoints", "epoch-0003-step-000000120");
  REQUIRE(entry);
  CHECK(entry->epoch == 3);
  CHECK(entry->step == 120);
  CHECK(entry->path == "/run/checkpoints/epoch-0003-step-000000120");
  CHECK(entry->name() == "epoch-0003-step-000000120");
  for (const char* name : {"", "latest", "epoch-0003-step-000000120.bad", "epoch-3-step-120",
                           "epoch-0003-step-000000120.tmp-7", "epoch-0003-step--00000120", "../epoch-0003"}) {
    CAPTURE(name);
    CHECK_FALSE(checkpoint_entry("/run/checkpoints", name));
  }
}

}  // namespace esper::history::checkpoint_list_test
