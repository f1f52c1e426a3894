#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>

#include "support/committed_file.h"
#include "tamiyo/graph/feature.h"

namespace esper::tamiyo::feature_markdown_test {
namespace {

TEST_CASE("docs/policy.md has the table of features") {
  constexpr std::string_view kBegin = "<!-- generated: features -->\n", kEnd = "\n<!-- end -->";
  const auto page = test::read_text(std::filesystem::path(ESPER_SOURCE_DIR) / "docs/policy.md");
  const auto begin = page.find(kBegin), end = page.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const auto features = policy_features_markdown();
  REQUIRE(features.find("| 0 | 1 | `loss` |") != std::string::npos);
  test::check_committed_file("docs/policy.md", page.substr(0, begin + kBegin.size()) + features + page.substr(end));
}

}  // namespace
}  // namespace esper::tamiyo::feature_markdown_test
