#include "sweep/seed_list.h"

#include <fmt/core.h>

#include <map>

#include "base/text/printable.h"
#include "config/loading/read_value.h"
#include "sweep/sweep.h"

namespace esper::sweep {

using base::Problem;
using config::FieldRow;
using config::YamlNode;

namespace {

constexpr const char* kSeeds = "seeds";
constexpr const char* kForms = "expected whole numbers, like [1, 2, 3] or 1..3";

std::optional<std::uint64_t> seed_of(const YamlNode& node, const std::string& path, std::vector<Problem>& problems) {
  std::uint64_t seed = 0;
  const std::size_t before = problems.size();
  read_value(FieldRow{path, "", {}, &seed}, node, problems);
  return problems.size() == before ? std::optional(seed) : std::nullopt;
}

std::string too_many(const std::string& found) {
  return fmt::format("at most {} seeds, found {}", SweepLimits::kJobs, found);
}

std::vector<std::uint64_t> seed_range(const YamlNode& node, std::vector<Problem>& problems) {
  const auto refuse = [&](const std::string& text) {
    problems.push_back({node.place, kSeeds, text});
    return std::vector<std::uint64_t>();
  };
  const std::size_t dots = node.text.find("..");
  if (dots == std::string::npos) return refuse(kForms + (", found " + base::in_quotes(node.text)));
  YamlNode end = node;
  end.text = node.text.substr(0, dots);
  const auto first = seed_of(end, kSeeds, problems);
  end.text = node.text.substr(dots + 2);
  const auto last = seed_of(end, kSeeds, problems);
  if (!first || !last) return {};
  if (*first > *last) return refuse(fmt::format("{}..{} is empty; write the smaller one first", *first, *last));
  if (*last - *first >= SweepLimits::kJobs) return refuse(too_many(fmt::format("{}..{}", *first, *last)));
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i <= *last - *first; ++i) seeds.push_back(*first + i);
  return seeds;
}

}  // namespace

std::vector<std::uint64_t> read_seeds(const YamlNode& node, std::vector<Problem>& problems) {
  if (node.kind == YamlNode::Kind::kScalar) return seed_range(node, problems);
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
    problems.push_back({node.place, kSeeds, kForms});
    return {};
  }
  if (node.items.size() > SweepLimits::kJobs) {
    problems.push_back({node.place, kSeeds, too_many(std::to_string(node.items.size()))});
    return {};
  }
  std::vector<std::uint64_t> seeds;
  std::map<std::uint64_t, std::size_t> indices;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", kSeeds, i);
    const auto seed = seed_of(node.items[i], path, problems);
    if (!seed) continue;
    const auto [known, is_new] = indices.emplace(*seed, i);
    if (is_new) {
      seeds.push_back(*seed);
    } else {
      problems.push_back({node.items[i].place, path, fmt::format("the same as seeds[{}]; remove it", known->second)});
    }
  }
  return seeds;
}

}  // namespace esper::sweep
