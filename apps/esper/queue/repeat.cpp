#include "esper/queue/repeat.h"

#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/problem.h"
#include "sweep/seed_list.h"

namespace esper {
namespace {

using config::YamlNode;

YamlNode scalar(const std::string& text, const base::Place& place) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.place = place;
  node.text = text;
  return node;
}

// "1..5" as it is, "1,2,7" as a list.
YamlNode seed_node(const std::string& text, const base::Place& place) {
  if (text.find("..") != std::string::npos) return scalar(text, place);
  YamlNode list;
  list.kind = YamlNode::Kind::kList;
  list.place = place;
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    list.items.push_back(scalar(text.substr(begin, comma - begin), place));
    begin = comma + 1;
  }
  list.items.push_back(scalar(text.substr(begin), place));
  return list;
}

}  // namespace

std::vector<std::uint64_t> seeds_in(const std::string& repeat) {
  const auto equals = repeat.find('=');
  if (equals == std::string::npos || repeat.substr(0, equals) != "seeds") {
    throw base::Error(base::ExitCode::kConfig,
                      "--repeat " + base::shortened(repeat) +
                          ": only seeds can be repeated, like --repeat seeds=1..5 or seeds=1,2,7; for other fields "
                          "submit once for each value, with --set KEY=VALUE");
  }
  std::vector<base::Problem> problems;
  const base::Place place{"--repeat " + base::shortened(repeat), 0, 0};
  auto seeds = sweep::read_seeds(seed_node(repeat.substr(equals + 1), place), problems);
  if (!problems.empty()) throw base::ConfigError(std::move(problems));
  return seeds;
}

}  // namespace esper
