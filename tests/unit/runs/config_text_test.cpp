#include "runs/config_text.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>

#include "base/hash.h"
#include "config/loading/load.h"
#include "config/writing/write.h"

namespace esper::runs::config_text_test {

TEST_CASE("the hash of a run's config.yaml is that of its configuration, for every run file of the project") {
  std::size_t compared = 0;
  for (const char* folder : {"/configs/run", "/configs/bench", "/configs/experiment"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(ESPER_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto loaded = config::read_run_config(entry.path());
      if (!loaded.problems.empty()) continue;
      CAPTURE(entry.path());
      const auto text = ConfigText::read(config::resolved_yaml(loaded.config));
      REQUIRE(text);
      CHECK(text->hash() == base::hash_text(config::config_hash(loaded.config)));
      ++compared;
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("numbers, texts and lists of every form are hashed as the configuration is") {
  config::RunConfig config;
  config.name = "na\"me\\\xC3\xA4";
  config.data.path = "a: b # c\n\xE2\x80\xAE";
  config.data.command = {"python", "a, b", "\"quoted\"", ""};
  for (const double value : {1.0, 0.0001, 1e-5, 123456789012345678.0, 0.1, 1e21, 5e-324, 100000.0}) {
    CAPTURE(value);
    config.training.optimizer.lr = value;
    const auto text = ConfigText::read(config::resolved_yaml(config));
    REQUIRE(text);
    CHECK(text->hash() == base::hash_text(config::config_hash(config)));
    CHECK(text->text_of("name") == config.name);
    CHECK(text->text_of("data.path") == config.data.path);
  }
  const auto text = ConfigText::read(config::resolved_yaml(config));
  CHECK(text->text_of("training.optimizer.kind") == std::string(base::name_of(config.training.optimizer.kind)));
  CHECK(text->text_of("training").empty());
  CHECK(text->text_of("nothing").empty());
}

TEST_CASE("what is no resolved configuration is refused with its line") {
  CHECK(ConfigText::read("").error() == "it is empty");
  CHECK(ConfigText::read("\n# only a comment\n").error() == "it is empty");
  CHECK(ConfigText::read("name: a\n\x01\x02garbage\n").error() == "line 2 is not a field: \\x01\\x02garbage");
  CHECK(ConfigText::read("name: a\n  - item\n").error() == "line 2 is not a field:   - item");
  CHECK(ConfigText::read("name: \"a\n").error() == "line 1 is not a field: name: \"a");
  CHECK(ConfigText::read("seed: 1\nlist: [1, 2\n").error() == "line 2 is not a field: list: [1, 2");
  for (const char* cut_off :
       {R"("a\"b)", R"("a\)", R"("a\\\")", R"("a" b)", R"(")", R"([1, "]", 2)", R"(["a\"]", "b)", "[1] 2", "["}) {
    CAPTURE(cut_off);
    CHECK_FALSE(ConfigText::read(std::string("seed: 1\nvalue: ") + cut_off + "\n"));
  }
  for (const char* whole :
       {R"("a\"b")", R"("a\\")", R"("")", R"([1, "]", 2])", R"(["a\"]", "[b"])", "[]", "a]", "a\""}) {
    CAPTURE(whole);
    CHECK(ConfigText::read(std::string("seed: 1\nvalue: ") + whole + "\n"));
  }
  CHECK(ConfigText::read("  indented: 1\n").error() == "line 1 is not a field:   indented: 1");
  CHECK(ConfigText::read(std::string(2 << 20, 'a')).error() == "it has more than 1 MiB");
  CHECK(ConfigText::read(std::string("a: b\n\0: 1\n", 10)).error() == "line 2 is not a field: \\x00: 1");
}

TEST_CASE("a field is found by its whole path, whatever fields of that name there are elsewhere") {
  const auto text = ConfigText::read(
      "data:\n  kind: digits\n  augment:\n    kind: none\n  path: a\n"
      "data_more:\n  kind: other\nempty:\nkind: top\nhost:\n  kind: cnn\n");
  REQUIRE(text);
  CHECK(text->value_of("data.kind") == "digits");
  CHECK(text->value_of("data.augment.kind") == "none");
  CHECK(text->value_of("data.path") == "a");
  CHECK(text->value_of("data_more.kind") == "other");
  CHECK(text->value_of("kind") == "top");
  CHECK(text->value_of("host.kind") == "cnn");
  for (const char* without_value : {"data", "data.augment", "empty"}) {
    CAPTURE(without_value);
    CHECK(text->value_of(without_value) == "");
  }
  for (const char* missing :
       {"data.host", "empty.kind", "host.path", "host.kind.cnn", "hos.kind", "augment.kind", "path", ""}) {
    CAPTURE(missing);
    CHECK_FALSE(text->value_of(missing));
  }
}

TEST_CASE("a configuration is read as far as it was cut off, and one that somebody wrote by hand") {
  config::RunConfig config;
  const auto whole = config::resolved_yaml(config);
  for (std::size_t length = 1; length < whole.size(); length += 7) {
    const auto read = ConfigText::read(whole.substr(0, length));
    if (read) read->hash();
  }
  const auto text = ConfigText::read("# mine\nname: a\n\ndata:\n    kind: digits   \nseed: 3");
  REQUIRE(text);
  CHECK(text->text_of("data.kind") == "digits");
  CHECK(text->text_of("seed") == "3");
}

}  // namespace esper::runs::config_text_test
