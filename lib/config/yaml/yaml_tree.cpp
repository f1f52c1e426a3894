#include "config/yaml/yaml_tree.h"

#include <fmt/core.h>

#include <utility>

#include "base/text/printable.h"
#include "config/yaml/yaml_counts.h"

namespace esper::config {

void YamlTree::check_depth(std::size_t levels, const base::Place& place) const {
  if (open_.size() + levels > YamlLimits::kDepth) throw YamlStop{place, "nested deeper than 64 levels"};
}

void YamlTree::open(YamlNode node) {
  check_depth(1, node.place);
  if (expects_key()) throw YamlStop{node.place, "expected a key, found a list or a map; is every bracket closed?"};
  open_.push_back({std::move(node), false, {}, {}, {}});
}

YamlNode YamlTree::close() {
  YamlNode node = std::move(open_.back().node);
  open_.pop_back();
  return node;
}

void YamlTree::attach(YamlNode node, const base::Place& place) {
  if (open_.empty()) {
    document_.root = std::move(node);
  } else if (open_.back().node.kind == YamlNode::Kind::kList) {
    open_.back().node.items.push_back(std::move(node));
  } else if (expects_key()) {
    take_key(open_.back(), node, place);
  } else {
    take_value(open_.back(), std::move(node));
  }
}

bool YamlTree::expects_key() const {
  return !open_.empty() && open_.back().node.kind == YamlNode::Kind::kMap && !open_.back().has_key;
}

void YamlTree::take_key(Open& map, const YamlNode& node, const base::Place& place) {
  if (node.kind != YamlNode::Kind::kScalar) throw YamlStop{place, "a key must be plain text"};
  map.has_key = true;
  map.key = node.text;
  map.key_place = place;
}

void YamlTree::take_value(Open& map, YamlNode node) {
  map.has_key = false;
  // The parser places an absent value where the next thing starts, lines below its key.
  if (node.kind == YamlNode::Kind::kNull) node.place = map.key_place;
  if (map.key == "<<") return report(map.key_place, "merge keys (<<) are not accepted; write the keys out");
  const auto [seen, is_new] = map.lines.emplace(map.key, map.key_place.line);
  if (!is_new) {
    return report(map.key_place, fmt::format("duplicate key {}; it is given in line {} already",
                                             base::in_quotes(map.key), seen->second));
  }
  map.node.entries.push_back({map.key, map.key_place, std::move(node)});
}

void YamlTree::report(const base::Place& place, std::string text) {
  document_.problems.push_back({place, "", std::move(text)});
}

}  // namespace esper::config
