#pragma once
// Reads a YAML document that is no run file into structs with fields() (field.h), with all problems: unknown keys with
// the nearest known one, values of the wrong type or beyond their limits.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text/problem.h"
#include "config/fields/field_table.h"
#include "config/yaml/yaml_document.h"

namespace esper::config {

class SectionReader {
 public:
  using ReadKey = std::function<void(const YamlNode&)>;

  // `rows`: of the structs to fill (append_rows); they and `problems` must outlive the reader.
  SectionReader(std::vector<FieldRow> rows, std::vector<base::Problem>& problems);
  SectionReader(const SectionReader&) = delete;
  SectionReader& operator=(const SectionReader&) = delete;

  // A key of the document that is no field; `read` gets its value, in the document's order.
  void add_key(const std::string& key, ReadKey read) { own_keys_.emplace_back(key, std::move(read)); }

  // The problems of the YAML itself are expected to be in `problems` already.
  void read(const YamlNode& root);

  bool is_given(const std::string& path) const { return places_.contains(path); }
  // Where a field is given, else the file as a whole.
  base::Place place_of(const std::string& path) const;
  void report(const std::string& path, std::string text);

 private:
  void read_section(const YamlNode& node, const std::string& section);
  void read_entry(const YamlEntry& entry, const std::string& section);
  std::vector<std::string> known(const std::string& section) const;

  std::vector<FieldRow> rows_;
  std::vector<base::Problem>& problems_;
  std::vector<std::pair<std::string, ReadKey>> own_keys_;
  std::map<std::string, base::Place> places_;
  base::Place file_;
};

}  // namespace esper::config
