#pragma once
// Counts of a document, checked against YamlLimits while it is read and not only afterwards. One thread.

#include <cstddef>
#include <string>

#include "config/yaml/yaml_document.h"

namespace esper::config {

// Thrown through the parser: nothing after this place can be read.
struct YamlStop {
  base::Place place;
  std::string text;
};

struct YamlSize {
  int nodes = 1;
  std::size_t levels = 0;  // of nesting
  std::size_t bytes = 0;   // of text
};

YamlSize size_of(const YamlNode& node);

class YamlCounts {
 public:
  // Each throws YamlStop beyond its limit.
  void add_node(const base::Place& place) { add_nodes(1, place); }
  void add_alias(const base::Place& place);
  // An anchored value is kept beside the tree, and an alias repeats it.
  void add_repeated(const YamlSize& size, const base::Place& place);

 private:
  void add_nodes(int nodes, const base::Place& place);

  int nodes_ = 0;
  int aliases_ = 0;
  std::size_t repeated_bytes_ = 0;
};

}  // namespace esper::config
