#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/loading/load.h"

namespace esper::test::assignment_test {

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::StartsWith;

TEST_CASE("an assignment cannot extend a file") {
  for (const std::string text : {"extends=other.yaml", "extends=[a, b]", "extends="}) {
    CAPTURE(text);
    const LoadedConfig loaded = read_run_config_text("epochs: 3\n", "f", {text});
    REQUIRE(loaded.problems.size() == 1);
    CHECK(to_string(loaded.problems[0]) == "--set " + text + ": extends: only a file can extend another one");
  }
}

TEST_CASE("assignments come last and are read like the file") {
  const std::string text = "epochs: 3\nhost: {hidden: [8]}\n";
  const LoadedConfig loaded = read_run_config_text(
      text, "f", {"epochs=4", "training.optimizer.lr=0.5", "host.hidden=[1, 2, 3]", "name=\"yes\"", "data.path="});
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.config.epochs == 4);
  CHECK(loaded.config.training.optimizer.lr == 0.5);
  CHECK(loaded.config.host.hidden == std::vector<std::int64_t>{1, 2, 3});
  CHECK(loaded.config.name == "yes");
  CHECK(loaded.config.data.path.empty());
  CHECK(to_string(loaded.origins.at("epochs")) == "--set epochs=4");
  CHECK(loaded.origins.at("host.hidden").file == "--set host.hidden=[1, 2, 3]");
  CHECK_FALSE(loaded.origins.contains("seed"));
}

TEST_CASE("a wrong assignment is refused and names itself") {
  struct Case {
    std::string assignment, expected;
  };
  const Case c = GENERATE(Case{"epochs=many", "--set epochs=many: epochs: expected a whole number"},
                          Case{"epohcs=3", "--set epohcs=3: epohcs: unknown key; did you mean epochs?"},
                          Case{"data.knd=csv", "--set data.knd=csv: data.knd: unknown key; did you mean kind?"},
                          Case{"epochs", "--set epochs: write key=value"}, Case{"=3", "--set =3: write key=value"},
                          Case{"epochs=[", "--set epochs=[: "},
                          Case{"epochs.x=3", "--set epochs.x=3: epochs: expected a whole number"},
                          Case{"data=3", "--set data=3: data: expected a section"}, Case{"..=3", "--set ..=3"},
                          Case{"epochs={a: 1, a: 2}", "--set epochs={a: 1, a: 2}"});
  CAPTURE(c.assignment);
  const LoadedConfig loaded = read_run_config_text("name: a\n", "f", {c.assignment});
  REQUIRE_FALSE(loaded.problems.empty());
  CHECK_THAT(to_string(loaded.problems[0]), StartsWith(c.expected));
}

TEST_CASE("a long assignment is named by its beginning, and its value is not repeated whole") {
  const std::string letters(50'000, 'x'), fewer(5'000, 'x'), digits(5'000, '9');
  const std::string assignment = GENERATE_COPY(
      letters, letters + "=3", "training." + letters + "=3", "epochs=" + letters, "epochs=" + fewer, "epochs=" + digits,
      "seed=-" + digits, "training.optimizer.lr=1" + digits.substr(0, 200), "name=" + fewer, "device.kind=" + fewer,
      "host.modules=[" + fewer + "]", "host.modules=[r0c0=" + fewer + "]", "growth.slots=[" + fewer + "]",
      "growth.blueprints=[" + fewer + ", " + fewer.substr(1) + "]", "growth.slot_alpha=[" + fewer + "]",
      "growth.aggregation.classes=[" + fewer + "]", "data.kind=!" + fewer + " x",
      "data={" + fewer.substr(0, 1'000) + ": 1, " + fewer.substr(0, 1'000) + ": 1}");
  const LoadedConfig loaded = read_run_config_text("name: a\n", "f", {assignment});
  REQUIRE_FALSE(loaded.problems.empty());
  for (const Problem& problem : loaded.problems) {
    const std::string text = to_string(problem);
    CAPTURE(text.substr(0, 1000));
    CHECK(problem.place.file == "--set " + assignment.substr(0, 60) + "...");
    CHECK(text.size() < 600);
  }
}

}  // namespace esper::test::assignment_test
