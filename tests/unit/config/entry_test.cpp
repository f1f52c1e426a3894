#include "config/entries/entry.h"

#include <catch2/catch_test_macros.hpp>

#include "config/entries/scheduled_germination.h"
#include "config/entries/slot_alpha.h"
#include "config/entries/slot_classes.h"
#include "config/entries/slot_module.h"

namespace esper::config::entry_test {
namespace {

TEST_CASE("an entry keeps its text and what it says") {
  const std::vector<Entry<SlotAlpha>> list = {"r0c1=cosine,8,0.7", "r0c0=linear,1,1"};
  CHECK(list[0].text() == "r0c1=cosine,8,0.7");
  REQUIRE(list[0]);
  CHECK(list[0]->slot == "r0c1");
  CHECK(list[0]->curve == AlphaCurve::kCosine);
  CHECK(list[0]->ticks == 8);
  CHECK(list[0]->target == 0.7);
  const Entry<SlotClasses> classes("r0c2=0,12");
  REQUIRE(classes);
  CHECK((*classes).classes == std::vector<std::int64_t>{0, 12});
  const Entry<SlotModule> module("r0c0=conv_heavy");
  REQUIRE(module);
  CHECK(module->slot == "r0c0");
  CHECK(module->blueprint == "conv_heavy");
  const Entry<ScheduledGermination> line("12:r0c3=conv_light");
  REQUIRE(line);
  CHECK(line->epoch == 12);
  CHECK(line->percent == 0);
  CHECK(line->slot == "r0c3");
  CHECK(line->blueprint == "conv_light");
}

TEST_CASE("a percentage is the first epoch at which so many of the run's epochs are done") {
  const auto due = [](const char* text, int epochs) { return Entry<ScheduledGermination>(text)->due_epoch(epochs); };
  CHECK(due("7:r0c0=mlp", 10) == 7);
  CHECK(due("30%:r0c0=mlp", 10) == 3);
  CHECK(due("31%:r0c0=mlp", 10) == 4);
  CHECK(due("1%:r0c0=mlp", 10) == 1);
  CHECK(due("100%:r0c0=mlp", 7) == 7);
  CHECK(due("33%:r0c0=mlp", 1'000'000) == 330'000);
}

TEST_CASE("an entry of another form keeps its text and says what is wrong") {
  const Entry<SlotAlpha> alpha("r0c0=linear,8,0.01");
  CHECK_FALSE(alpha);
  CHECK(alpha.text() == "r0c0=linear,8,0.01");
  CHECK(alpha.problem() ==
        "in \"r0c0=linear,8,0.01\", \"0.01\" is not a target, 0.05 to 1; write it like r0c1=cosine,8,0.7");
  for (const char* text : {"", "r0c0", "r0c0=", "=0", "r0c0=0,", "r0c0=-1", "r0c0=1000001", "c0=1"}) {
    INFO(text);
    CHECK_FALSE(Entry<SlotClasses>(text));
  }
  for (const char* text : {"", "mlp", "r0c0=", "=mlp", "c0=mlp"}) {
    INFO(text);
    CHECK_FALSE(Entry<SlotModule>(text));
  }
  for (const char* text : {"", "2", "2:", "r0c0=mlp", ":r0c0=mlp", "2:c0=mlp", "2:r0c0", "2:r0c0=", "0:r0c0=mlp",
                           "-1:r0c0=mlp", "1000001:r0c0=mlp", "2.5:r0c0=mlp", "%:r0c0=mlp", "0%:r0c0=mlp",
                           "101%:r0c0=mlp", "12.5%:r0c0=mlp", "2 :r0c0=mlp"}) {
    INFO(text);
    CHECK_FALSE(Entry<ScheduledGermination>(text));
  }
  CHECK(Entry<ScheduledGermination>("0%:r0c0=mlp").problem() ==
        "in \"0%:r0c0=mlp\", \"0%\" is neither an epoch, 1 to 1000000, nor a whole percentage of the run's epochs, 1% "
        "to 100%; write it like 2:r0c2=conv_light or 30%:r0c2=conv_light");
}

}  // namespace
}  // namespace esper::config::entry_test
