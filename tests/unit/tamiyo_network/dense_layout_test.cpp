#include "tamiyo/network/dense_layout.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <utility>
#include <vector>

#include "outputs.h"

namespace esper::test::dense_layout_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr Caps kCaps = {1, 4, 8, 12, 4, 6};

const DenseLayout& layout() {
  static const DenseLayout kLayout = dense_layout(fold(test::shared_weights()), kCaps);
  return kLayout;
}

std::int64_t number_left_out(const AttentionLayout& attention) {
  return std::ranges::count(attention.scores.parts, 0, &EdgePart::row_step);
}

// How many elements the relations' edges have, each of its own within the matrix.
std::size_t check_elements(const EdgeMatrix& matrix, std::set<std::pair<std::int64_t, std::int64_t>> taken = {}) {
  for (std::size_t relation = 0; relation < kRelations; ++relation) {
    const auto& [source_type, name, target_type] = kRelationTable[relation];
    const auto& [first_row, row_step, first_column] = matrix.parts[relation];
    if (row_step == 0) continue;
    for (int target = 0; target < kCaps[place_of(target_type)]; ++target) {
      for (int source = 0; source < kCaps[place_of(source_type)]; ++source) {
        const std::pair element{first_row + target * row_step, first_column + source};
        CHECK((element.first < matrix.rows && element.second < matrix.columns));
        CHECK(taken.insert(element).second);
      }
    }
  }
  return taken.size();
}

}  // namespace

TEST_CASE("each edge, and each node itself, has an element of its own") {
  const DenseLayout& it = layout();
  CHECK(it.nodes == 35);
  CHECK(it.means.columns == it.nodes);
  std::set<std::pair<std::int64_t, std::int64_t>> selves;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    const auto& [first_row, row_step, first_column] = it.means.selves[type];
    for (int node = 0; node < kCaps[type]; ++node) selves.emplace(first_row + node * row_step, first_column + node);
  }
  CHECK(selves.size() == 35);
  check_elements(it.means, selves);
  for (const AttentionLayout& attention : it.attention) CHECK(check_elements(attention.scores) > 0);
}

TEST_CASE("relations that reach no head have no place") {
  const DenseLayout& it = layout();
  CHECK(number_left_out(it.attention[0]) == 4);
  CHECK(number_left_out(it.attention[1]) == 11);
  CHECK(it.attention[0].relation_of_row.max().item<std::int64_t>() == 16);
  CHECK(it.attention[1].relation_of_row.max().item<std::int64_t>() == 9);
}

TEST_CASE("the parts of a graph lie one after the other, on lines of the cache") {
  const DenseLayout& it = layout();
  const auto& [first, second] = it.attention;
  const std::vector<std::pair<std::int64_t, std::int64_t>> parts = {
      {0, it.nodes * kNodeColumns},
      {it.means.place, it.means.rows * it.means.columns},
      {first.reached, first.scores.rows},
      {second.reached, second.scores.rows},
      {first.scores.place, first.scores.rows * kHeads * first.scores.columns},
      {second.scores.place, second.scores.rows * kHeads * second.scores.columns}};
  std::int64_t end = 0;
  for (const auto& [place, numbers] : parts) {
    CHECK(place % 16 == 0);
    CHECK((place >= end && place < end + 16));
    end = place + numbers;
  }
  CHECK(it.first_score == first.scores.place);
  CHECK((it.size >= end && it.size < end + 16));
}

}  // namespace esper::test::dense_layout_test
