#pragma once
// A document's tree while it is built, value after value. One thread.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/yaml/yaml_document.h"

namespace esper::config {

class YamlTree {
 public:
  // Borrows the document, which gets the root and what is wrong with keys.
  explicit YamlTree(YamlDocument& document) : document_(document) {}

  // A list or a map begins, which takes what is attached until it is closed. Throws YamlStop where it cannot be.
  void open(YamlNode node);
  // Ends the innermost one, which is not attached yet.
  YamlNode close();
  // Adds a whole value to the innermost open list or map: there as a key or as its value, in turns. Throws YamlStop for
  // a key that cannot be one.
  void attach(YamlNode node, const base::Place& place);
  // Throws YamlStop if a value with so many levels would be too deep.
  void check_depth(std::size_t levels, const base::Place& place) const;

 private:
  struct Open {
    YamlNode node;
    bool has_key = false;
    std::string key;
    base::Place key_place;
    std::unordered_map<std::string, int> lines;  // of keys seen so far
  };

  bool expects_key() const;
  static void take_key(Open& map, const YamlNode& node, const base::Place& place);
  void take_value(Open& map, YamlNode node);
  void report(const base::Place& place, std::string text);

  YamlDocument& document_;
  std::vector<Open> open_;  // the innermost last
};

}  // namespace esper::config
