#pragma once
// YAML as Esper accepts it: a strict part of YAML 1.1, read into a tree in which every node knows its place.
//
// Refused with file, line and column: text that is not UTF-8 (UTF-16, byte order marks, NUL and other control
// characters), tabs in the indentation, duplicate keys, keys that are not plain text, quotes that do
// not end in their line, tags, directives, merge keys (<<), aliases
// that contain themselves, a second document, and more than the limits below (an alias counts with all that it
// repeats). Scalars stay text; the reader interprets them and knows whether they were quoted.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/problem.h"

namespace esper::config {

struct YamlLimits {
  static constexpr std::size_t kBytes = 1 << 20;
  static constexpr int kLineBytes = 10'000;  // the parser looks ahead to the line's end, again and again
  static constexpr int kDepth = 64;
  static constexpr int kNodes = 10'000;
  static constexpr int kAliases = 100;
  static constexpr std::size_t kRepeatedBytes = 4 << 20;  // of text that has an anchor, and with each of its aliases
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  enum class Style { kPlain, kQuoted };
  Kind kind = Kind::kNull;
  Style style = Style::kPlain;  // of a scalar
  base::Place place;
  std::string text;                // of a scalar
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the file's order
};

struct YamlEntry {
  std::string key;
  base::Place place;  // of the key
  YamlNode value;
};

struct YamlDocument {
  YamlNode root;
  std::vector<base::Problem> problems;  // empty: the document is good. After a problem the tree may be incomplete.
};

// `file` is the name that places carry.
YamlDocument parse_yaml(std::string_view text, const std::string& file);
// As parse_yaml, with a problem for a file that cannot be read (text_file.h); never reads more than the size limit.
YamlDocument read_yaml(const std::string& path);

}  // namespace esper::config
