#include "base/text/nearest.h"

#include <algorithm>
#include <array>

namespace esper::base {
namespace {

constexpr std::size_t kMax = 64;  // bytes of a name that are compared

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMax);
  b = b.substr(0, kMax);
  std::array<std::array<int, kMax + 1>, kMax + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  int best_distance = 0;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(name, candidate);
    const auto size = std::min(std::max(name.size(), candidate.size()), kMax);
    const int allowed = std::max(1, static_cast<int>(size) / 3);
    if (distance > allowed || (best && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace esper::base
