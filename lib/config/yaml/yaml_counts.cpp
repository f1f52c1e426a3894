#include "config/yaml/yaml_counts.h"

#include <algorithm>

namespace esper::config {

YamlSize size_of(const YamlNode& node) {
  YamlSize size{.bytes = node.text.size()};
  const auto add = [&](const YamlNode& inner, std::size_t key_bytes) {
    const YamlSize part = size_of(inner);
    size.nodes += part.nodes;
    size.levels = std::max(size.levels, part.levels + 1);
    size.bytes += part.bytes + key_bytes;
  };
  for (const YamlNode& item : node.items) add(item, 0);
  for (const YamlEntry& entry : node.entries) add(entry.value, entry.key.size());
  return size;
}

void YamlCounts::add_nodes(int nodes, const base::Place& place) {
  nodes_ += nodes;
  if (nodes_ > YamlLimits::kNodes) throw YamlStop{place, "more than 10000 values, repeated ones included"};
}

void YamlCounts::add_alias(const base::Place& place) {
  if (++aliases_ > YamlLimits::kAliases) throw YamlStop{place, "more than 100 aliases"};
}

void YamlCounts::add_repeated(const YamlSize& size, const base::Place& place) {
  add_nodes(size.nodes, place);
  repeated_bytes_ += size.bytes;
  if (repeated_bytes_ > YamlLimits::kRepeatedBytes) throw YamlStop{place, "anchors and aliases repeat more than 4 MiB"};
}

}  // namespace esper::config
