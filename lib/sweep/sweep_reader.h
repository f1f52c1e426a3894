#pragma once
// The fields of a sweep file, read from its YAML; what they mean together is checked in sweep_file.cpp.

#include <string>
#include <vector>

#include "base/text/problem.h"
#include "config/loading/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "sweep/sweep.h"

namespace esper::sweep {

class SweepReader {
 public:
  SweepReader(Sweep& out, std::vector<base::Problem>& problems);

  void read(const config::YamlNode& root);

  bool is_given(const std::string& path) const { return fields_.is_given(path); }
  // Where a field is given, else the file as a whole.
  base::Place place_of(const std::string& path) const { return fields_.place_of(path); }
  void report(const std::string& path, std::string text) { fields_.report(path, std::move(text)); }

 private:
  Sweep& out_;
  std::vector<base::Problem>& problems_;
  config::SectionReader fields_;
};

}  // namespace esper::sweep
