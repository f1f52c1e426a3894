#pragma once
// Parameters of a sweep file:
//
//   training.optimizer.lr: {min: 1e-4, max: 1e-1, scale: log}
//   data.batch_size: {values: [32, 64]}
//   host.width: [64, 128]

#include <map>
#include <string>
#include <vector>

#include "base/text/problem.h"
#include "config/fields/field_table.h"
#include "config/yaml/yaml_document.h"
#include "sweep/sweep.h"

namespace esper::sweep {

class ParameterReader {
 public:
  ParameterReader(Method method, std::vector<base::Problem>& problems);
  ParameterReader(const ParameterReader&) = delete;
  ParameterReader& operator=(const ParameterReader&) = delete;

  // `node`: the map of `parameters`. Each value is read as the run file would read it. What is wrong goes to the
  // problems, and a parameter of which nothing could be read is left out.
  std::vector<Parameter> read(const config::YamlNode& node);

 private:
  void report(const base::Place& place, const std::string& path, std::string text);
  const config::FieldRow* row_of(const config::YamlEntry& entry);
  void read_one(const config::YamlEntry& entry, Parameter& out);
  void read_map(const config::FieldRow& row, const config::YamlNode& node, Parameter& out);
  void read_values(const config::FieldRow& row, const config::YamlNode& node, Parameter& out);
  void read_range(const config::FieldRow& row, const config::YamlNode& node, Parameter& out);
  void read_end(const config::FieldRow& row, const config::YamlEntry& entry, double& out);
  void check_range(const Range& range, const base::Place& place, const std::string& path);

  Method method_;
  std::vector<base::Problem>& problems_;
  config::RunConfig scratch_;
  std::map<std::string, config::FieldRow> rows_;  // of scratch_
};

}  // namespace esper::sweep
