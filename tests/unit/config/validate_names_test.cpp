// Slots, blueprints and classes that a run file names: what does not exist is told with its place, all at once.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/loading/load.h"
#include "unit/config/problem_case.h"

namespace esper::test::validate_names_test {

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Case = esper::test::ProblemCase;
using esper::test::check_problem;

namespace {

std::vector<std::string> problems_of(const std::string& text, const std::vector<std::string>& assignments = {}) {
  std::vector<std::string> lines;
  for (const Problem& problem : read_run_config_text(text, "f", assignments).problems) {
    lines.push_back(to_string(problem));
  }
  return lines;
}

const std::string kText = "data: {kind: text, path: x, context: 8}\n";
const std::string kCifar = "data: {kind: cifar10, path: x}\n";

}  // namespace

TEST_CASE("slots that the host does not have") {
  const Case c = GENERATE(Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {slots: [r0c0, r0c1]}", ""},
                          Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {slots: [r0c0, r0c2]}",
                               "f:2:24: growth.slots[1]: this host has no slot \"r0c2\"; it has r0c0 to r0c1"},
                          Case{"host: {kind: mlp, hidden: [4], modules: [r0c1=norm]}",
                               "f:1:42: host.modules[0]: this host has no slot \"r0c1\""},
                          Case{"host: {kind: mlp, hidden: [4]}\ngrowth: {aggregation: {classes: [\"r0c3=0\"]}}",
                               "f:2:34: growth.aggregation.classes[0]: this host has no slot \"r0c3\""},
                          Case{"growth: {slot_alpha: [\"r0c7=linear,8,1\"]}",
                               "f:1:23: growth.slot_alpha[0]: this host has no slot \"r0c7\"; it has r0c0 to r0c"},
                          Case{"host: {kind: linear}\ngrowth: {slot_alpha: [\"r0c0=linear,8,1\"]}",
                               "f:2:23: growth.slot_alpha[0]: this host has no slot \"r0c0\"; it has none"});
  check_problem(c);
}

TEST_CASE("names that do not exist are told with the line they stand in, all of them") {
  const auto problems = problems_of(
      "host:\n"
      "  kind: mlp\n"
      "  hidden: [16, 16]\n"
      "  modules:\n"
      "    - r0c0=norm\n"
      "    - r0c1=mpl\n"
      "growth:\n"
      "  blueprints:\n"
      "    - mlp\n"
      "    - atention\n"
      "    - conv_heavy\n"
      "  slots:\n"
      "    - r0c1\n"
      "    - r0c5\n"
      "  aggregation:\n"
      "    classes:\n"
      "      - r0c1=1,2\n"
      "      - r0c0=3,12\n");
  REQUIRE(problems.size() == 4);
  CHECK(problems[0] ==
        "f:6:7: host.modules[1]: unknown blueprint \"mpl\"; did you mean mlp? This host can grow noop, attention, "
        "norm, lora, mlp_small, mlp, linear, widen, widen_half");
  CHECK_THAT(problems[1],
             StartsWith("f:10:7: growth.blueprints[1]: unknown blueprint \"atention\"; did you mean attention?"));
  CHECK(problems[2] == "f:14:7: growth.slots[1]: this host has no slot \"r0c5\"; it has r0c0 to r0c1");
  CHECK(problems[3] == "f:18:9: growth.aggregation.classes[1]: there is no class 12; the data have 10, 0 to 9");
}

TEST_CASE("the names of a schedule are checked as those of host.modules are") {
  const auto problems = problems_of(
      "host: {hidden: [8, 8]}\n"
      "policy:\n"
      "  kind: schedule\n"
      "  schedule:\n"
      "    - 2:r0c0=norm\n"
      "    - 3:r0c5=norm\n"
      "    - 30%:r0c1=mpl\n"
      "    - 4:r0c1=conv_heavy\n");
  REQUIRE(problems.size() == 3);
  CHECK(problems[0] == "f:6:7: policy.schedule[1]: this host has no slot \"r0c5\"; it has r0c0 to r0c1");
  CHECK_THAT(problems[1],
             StartsWith("f:7:7: policy.schedule[2]: unknown blueprint \"mpl\"; did you mean mlp? This host"));
  CHECK_THAT(problems[2], StartsWith("f:8:7: policy.schedule[3]: conv_heavy does not fit r0c1, a feature of kind "));
}

TEST_CASE("an assignment's names are checked as well") {
  const auto problems = problems_of("name: a\n", {"growth.blueprints=[mlp, conv_hevy]"});
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0],
             StartsWith("--set growth.blueprints=[mlp, conv_hevy]: growth.blueprints[1]: unknown blueprint"));
}

TEST_CASE("a blueprint that no slot can hold") {
  const Case c = GENERATE(
      Case{"host: {modules: [r0c0=conv_heavy]}",
           "f:1:18: host.modules[0]: conv_heavy does not fit r0c0, a feature of kind features; blueprints that fit: "
           "noop"},
      Case{"host: {hidden: [8], modules: [r0c0=lora]}",
           "f:1:31: host.modules[0]: lora does not fit r0c0, a feature of kind features with 8 channels; blueprints "
           "that fit: "},
      Case{"host: {hidden: [9], modules: [r0c0=lora]}", ""},
      Case{kText + "host: {kind: transformer, modules: [r0c0=lora_large, r0c2=flex_attention]}", ""},
      Case{kText + "host: {kind: transformer, embedding: 24, modules: [r0c0=lora_large]}",
           "f:2:52: host.modules[0]: lora_large does not fit r0c0, a feature of kind sequence with 24 channels at 8 "
           "positions"},
      Case{kCifar + "host: {kind: cnn, blocks: 5, pool_layers: 5, modules: [r0c3=conv_light]}", ""},
      Case{kCifar + "host: {kind: cnn, blocks: 5, pool_layers: 5, modules: [r0c4=conv_light]}",
           "f:2:56: host.modules[0]: conv_light does not fit r0c4, a feature of kind image with 128 channels at 1 "
           "positions"},
      Case{"data: {kind: mnist, path: x}\nhost: {kind: cnn, blocks: 5, pool_layers: 5, modules: [r0c4=conv_light]}",
           ""},  // the data will tell
      Case{kText + "host: {kind: transformer, modules: [r0c0=copy_block*2]}", ""},
      Case{kText + "host: {kind: transformer, modules: [r0c0=copy_block*0]}",
           "f:2:37: host.modules[0]: in \"copy_block*0\", \"0\" is not a number of copies, 1 to 64; "},
      Case{kText + "host: {kind: transformer, modules: [r0c0=lora*2]}",
           "f:2:37: host.modules[0]: lora*2 does not fit r0c0, a feature of kind sequence with 384 channels at 8 "
           "positions: only copies of the host's blocks"},
      Case{kCifar + "host: {kind: cnn, modules: [r0c1=copy_block]}",
           "f:2:29: host.modules[0]: copy_block does not fit r0c1, a feature of kind image with 16 channels at 64 "
           "positions: the host's block before it has no residual connection"},
      Case{kCifar + "host: {kind: cnn, residual_blocks: 1, modules: [r0c1=copy_block]}", ""},
      Case{kCifar + "host: {kind: cnn, modules: [r0c1=widen]}", ""},
      Case{kCifar + "host: {kind: cnn, modules: [r0c1=widen*2]}",
           "f:2:29: host.modules[0]: widen*2 does not fit r0c1, a feature of kind image with 16 channels at 64 "
           "positions: only copies of the host's blocks"},
      Case{kCifar + "host: {kind: cnn, residual_blocks: 1, modules: [r0c1=widen]}",
           "f:2:49: host.modules[0]: widen does not fit r0c1: the block before it ends in residual blocks"},
      Case{"growth: {blueprints: [conv_heavy, conv_light]}",
           "f:1:22: growth.blueprints: none of conv_heavy, conv_light fits a slot of this host; blueprints that fit: "
           "noop"},
      Case{"growth: {blueprints: [conv_heavy, mlp]}", ""},
      Case{"host: {hidden: [8, 32]}\ngrowth: {blueprints: [lora]}", ""},
      Case{"host: {hidden: [8, 32]}\ngrowth: {slots: [r0c1], blueprints: [lora]}", ""},
      Case{"host: {hidden: [8, 32]}\ngrowth: {slots: [r0c0], blueprints: [lora]}",
           "f:2:37: growth.blueprints: none of lora fits a slot that growth.slots names; blueprints that fit: noop"},
      Case{"growth: {enabled: false, blueprints: [conv_heavy]}", ""},
      Case{"host: {kind: linear}\ngrowth: {blueprints: [conv_heavy]}", ""},
      Case{"host: {kind: linear}\ngrowth: {blueprints: [mlpp]}",
           "f:2:23: growth.blueprints[0]: unknown blueprint \"mlpp\"; did you mean mlp? Known are noop"});
  check_problem(c);
}

TEST_CASE("classes are checked where the run file tells how many there are") {
  const auto with = [](const std::string& data, const std::string& classes) {
    return problems_of("data: {" + data + "}\ngrowth: {aggregation: {classes: [\"" + classes + "\"]}}\n");
  };
  CHECK(with("kind: digits", "r0c0=0,9").empty());
  CHECK(with("kind: digits", "r0c0=10").size() == 1);
  CHECK(with("kind: digits, path: mine.csv", "r0c0=10").empty());
  CHECK(with("kind: synthetic, synthetic: {classes: 3}", "r0c0=2").empty());
  CHECK_THAT(with("kind: synthetic, synthetic: {classes: 3}", "r0c0=2,3").at(0),
             ContainsSubstring("there is no class 3; the data have 3, 0 to 2"));
  CHECK(with("kind: cifar10, path: x", "r0c0=11,12").size() == 2);
  CHECK(with("kind: digits", "r0c0=10,10").size() == 1);
  CHECK(with("kind: mnist, path: x", "r0c0=46").empty());
}

}  // namespace esper::test::validate_names_test
