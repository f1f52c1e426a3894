#pragma once
// Where the values of a run file were given, so that what a rule finds names a place.

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/problem.h"
#include "config/field.h"
#include "config/yaml/yaml_document.h"

namespace esper::config {

class ValuePlaces {
 public:
  // origins: LoadedConfig::origins, which this fills; it outlives this. run_file: the place of what was not given.
  ValuePlaces(std::map<std::string, base::Place>& origins, std::string run_file)
      : origins_(origins), run_file_(std::move(run_file)) {}

  // A field or section was given; the last place counts.
  void record(const std::string& path, const YamlNode& value);

  // Where the item or field was given, else one that its rule looked at, else its section, else the run file as a
  // whole.
  base::Place of(const Finding& finding) const;

 private:
  const base::Place* item_place(const std::string& path) const;

  std::map<std::string, base::Place>& origins_;
  const std::string run_file_;
  std::unordered_map<std::string, std::vector<base::Place>> items_;  // of each list that was given
};

}  // namespace esper::config
