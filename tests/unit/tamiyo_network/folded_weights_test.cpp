#include "tamiyo/network/folded_weights.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "outputs.h"

namespace esper::test::folded_weights_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("what reaches no head is left out") {
  const FoldedWeights folded = fold(test::shared_weights());
  std::vector<std::size_t> relations;
  for (const FoldedLayer& layer : folded.layers) {
    std::size_t count = 0;
    for (const FoldedTarget& target : layer.targets) count += target.relations.size();
    relations.push_back(count);
  }
  CHECK(relations == std::vector<std::size_t>{21, 21, 17, 10});
  CHECK(folded.layers[2].targets.size() == 5);  // no activation
  CHECK(folded.layers[3].targets.size() == 3);  // global, seed, blueprint
}

TEST_CASE("half of the numbers remain, each tensor under a name of its own") {
  std::set<std::string> names;
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : named_tensors(fold(test::shared_weights()))) {
    names.insert(name);
    REQUIRE(tensor.defined());
    CHECK(tensor.is_contiguous());
    CHECK(tensor.scalar_type() == at::kFloat);
    numbers += tensor.numel();
  }
  CHECK(names.size() == named_tensors(fold(test::shared_weights())).size());
  CHECK(numbers > 6'400'000);
  CHECK(numbers < 6'700'000);
}

TEST_CASE("each node type has its own columns of features") {
  CHECK(first_feature(NodeType::kGlobal) == 0);
  CHECK(first_feature(NodeType::kBlueprint) == 30);
  CHECK(first_feature(NodeType::kParameter) + kNodeFeatures.back() == kFeatureColumns);
}

}  // namespace esper::test::folded_weights_test
