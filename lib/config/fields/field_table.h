#pragma once
// The run configuration as a flat table of its fields: the one walk over the structs' fields(). Loading, dumping, the
// schema, the docs and `config explain` are plain loops over this table.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/run_config.h"

namespace esper::config {

// A field of some enum type.
struct EnumField {
  void* value;
  std::vector<std::string_view> names;
  std::size_t (*get)(const void* value);             // index into names
  void (*set)(void* value, std::size_t name_index);  // name_index < names.size()
};

// A list of texts in a form of their own (config/entries/entry.h).
struct EntriesField {
  void* value;
  std::vector<std::string> (*get)(const void* value);
  void (*set)(void* value, const std::vector<std::string>& texts);
};

struct SectionField {};

// Points into the RunConfig that the table was made for.
using FieldValue = std::variant<SectionField, EnumField, EntriesField, bool*, int*, std::int64_t*, std::uint64_t*,
                                double*, std::string*, base::Duration*, base::Length*, std::vector<std::int64_t>*,
                                std::vector<double>*, std::vector<std::string>*>;

struct FieldRow {
  std::string path;  // dotted: "training.optimizer.lr"
  std::string_view help;
  Limits limits;
  FieldValue value;

  bool is_section() const { return std::holds_alternative<SectionField>(value); }
  std::string section() const;  // path of the section it is in; empty at the top
  std::string key() const;      // last part of its path
};

// Every section and field in declared order, a section before what it holds.
std::vector<FieldRow> field_table(RunConfig& config);

// "training.optimizer" and "lr" make "training.optimizer.lr".
std::string join_path(std::string_view section, std::string_view key);

// What validate() of every struct finds, paths made absolute.
Findings validate_all(const RunConfig& config);

}  // namespace esper::config
