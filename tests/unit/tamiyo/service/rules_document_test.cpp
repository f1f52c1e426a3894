#include "tamiyo/service/rules_document.h"

#include <catch2/catch_test_macros.hpp>

#include "support/committed_file.h"

namespace esper::tamiyo::rules_document_test {

TEST_CASE("docs/policy_rules.md is what the tables say") {
  test::check_committed_file("docs/policy_rules.md", rules_markdown());
}

}  // namespace esper::tamiyo::rules_document_test
