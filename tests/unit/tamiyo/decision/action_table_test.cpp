#include "tamiyo/decision/action_table.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

namespace esper::tamiyo::action_table_test {

using leyline::SeedOperation;
using leyline::Stage;

TEST_CASE("a row's place in the policy head is its action's number, and names are unique") {
  std::set<std::string_view> names;
  for (std::size_t place = 0; place < kActionTable.size(); ++place) {
    const auto& row = kActionTable[place];
    CHECK(static_cast<std::size_t>(row.action) == place);
    CHECK(&row_of(row.action) == &row);
    CHECK_FALSE(row.meaning.empty());
    names.insert(row.name);
  }
  CHECK(names.size() == kActionTable.size());
  CHECK(kActionTable.front().name == "wait");
}

TEST_CASE("each growing stage has the command that ends it, and no other stage has one") {
  CHECK(next_operation(Stage::kGerminated) == SeedOperation::kStartTraining);
  CHECK(next_operation(Stage::kTraining) == SeedOperation::kStartGrafting);
  CHECK(next_operation(Stage::kBlending) == SeedOperation::kStabilize);
  CHECK(next_operation(Stage::kShadowing) == SeedOperation::kEvaluate);
  CHECK(next_operation(Stage::kProbationary) == SeedOperation::kFossilize);
  for (const auto stage : {Stage::kUnknown, Stage::kDormant, Stage::kFossilized, Stage::kCulled, Stage::kEmbargoed,
                           Stage::kResetting, Stage::kTerminated}) {
    CHECK_FALSE(next_operation(stage));
  }
}

}  // namespace esper::tamiyo::action_table_test
