#include "porting/python/definitions.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace esper::test::definitions_test {

using namespace esper;

namespace {

bool defines(const std::string& text, const std::string& name) {
  return text.find("class " + name + "(") != std::string::npos || text.find("def " + name + "(") != std::string::npos;
}

}  // namespace

TEST_CASE("a text gets the definitions that it calls, and those that they name") {
  const auto text = porting::definitions_for("self.host = Cnn(1, [8], 10, kernel=3, pools=1)\n");
  for (const std::string name : {"Cnn", "ConvBlock", "ResidualBlock"}) {
    INFO(name);
    CHECK(defines(text, name));
  }
  for (const std::string name : {"Mlp", "DenseBlock", "MoreChannels", "Lora", "confidence"}) {
    INFO(name);
    CHECK_FALSE(defines(text, name));
  }
}

TEST_CASE("a class that is inherited from comes before its heir") {
  const auto text = porting::definitions_for("FlexAttention(8, 1)");
  REQUIRE(defines(text, "CausalAttention"));
  CHECK(text.find("class CausalAttention(") < text.find("class FlexAttention("));
}

TEST_CASE("a name counts as a whole word that is called") {
  CHECK(porting::definitions_for("nn.Linear(3, 4), MyLora(3), Lora, \"a Lora\"").empty());
  CHECK(defines(porting::definitions_for("x * confidence(s)"), "confidence"));
}

TEST_CASE("each definition has a name of its own, and the files begin with one") {
  std::vector<std::string> names;
  for (const std::string file : {"hosts.py", "modules.py"}) {
    std::ifstream lines(ESPER_SOURCE_DIR "/lib/porting/python/" + file);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("class ") && !line.starts_with("def ")) continue;
      const auto name = line.find(' ') + 1;
      names.push_back(line.substr(name, line.find_first_of("(:", name) - name));
    }
  }
  CHECK(names.size() > 25);
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  for (const auto text : {porting::preprocessing_of_numbers(), porting::preprocessing_of_tokens(), porting::loading()})
    CHECK(text.starts_with("def "));
}

}  // namespace esper::test::definitions_test
