#include "config/loading/assignment.h"

#include <utility>

#include "base/text/printable.h"

namespace esper::config {

using base::Place;
using base::Problem;
using base::shortened;

namespace {

void forget_places(YamlNode& node, const std::string& origin) {
  node.place = {origin, 0, 0};
  for (YamlNode& item : node.items) forget_places(item, origin);
  for (YamlEntry& entry : node.entries) {
    entry.place = node.place;
    forget_places(entry.value, origin);
  }
}

YamlDocument nested(const std::string& text) {
  const std::string origin = assignment_origin(text);
  const Place place{origin, 0, 0};
  const std::size_t equals = text.find('=');
  YamlDocument document;
  document.root.place = place;
  if (equals == 0 || equals == std::string::npos) {
    document.problems.push_back({place, "", "write key=value, like training.optimizer.lr=0.1"});
    return document;
  }
  const std::string_view value = std::string_view(text).substr(equals + 1);
  document = parse_yaml(value, origin);
  if (value.empty()) {
    document.root.kind = YamlNode::Kind::kScalar;
    document.root.style = YamlNode::Style::kQuoted;
  }
  if (!document.problems.empty()) return document;
  std::string path = text.substr(0, equals);
  while (true) {
    const std::size_t dot = path.rfind('.');
    YamlNode section;
    section.kind = YamlNode::Kind::kMap;
    section.place = place;
    section.entries.push_back({path.substr(dot == std::string::npos ? 0 : dot + 1), place, std::move(document.root)});
    document.root = std::move(section);
    if (dot == std::string::npos) return document;
    path.resize(dot);
  }
}

}  // namespace

std::string assignment_origin(const std::string& text) { return "--set " + shortened(text); }

YamlDocument assignment_document(const std::string& text) {
  YamlDocument document = nested(text);
  forget_places(document.root, assignment_origin(text));
  for (Problem& problem : document.problems) problem.place = document.root.place;
  return document;
}

}  // namespace esper::config
