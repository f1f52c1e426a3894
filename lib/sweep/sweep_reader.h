#pragma once
// The fields of a sweep file, read from its YAML; what they mean together is checked in sweep_file.cpp.

#include <map>
#include <string>
#include <vector>

#include "base/text/problem.h"
#include "config/fields/field_table.h"
#include "config/yaml/yaml_document.h"
#include "sweep/sweep.h"

namespace esper::sweep {

class SweepReader {
 public:
  SweepReader(Sweep& out, std::vector<base::Problem>& problems);
  SweepReader(const SweepReader&) = delete;
  SweepReader& operator=(const SweepReader&) = delete;

  void read(const config::YamlNode& root);

  bool is_given(const std::string& path) const { return places_.contains(path); }
  // Where a field is given, else the file as a whole.
  base::Place place_of(const std::string& path) const;
  void report(const std::string& path, std::string text);

 private:
  void read_section(const config::YamlNode& node, const std::string& section);
  void read_entry(const config::YamlEntry& entry, const std::string& section);
  std::vector<std::string> known(const std::string& section) const;

  Sweep& out_;
  std::vector<base::Problem>& problems_;
  std::vector<config::FieldRow> rows_;  // of out_.settings
  std::map<std::string, base::Place> places_;
  base::Place file_;
};

}  // namespace esper::sweep
