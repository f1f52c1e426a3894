#include "sweep/sweep_reader.h"

#include <algorithm>
#include <utility>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/fields/field_rows.h"
#include "config/loading/read_value.h"
#include "sweep/parameter_reader.h"
#include "sweep/seed_list.h"

namespace esper::sweep {

using base::Place;
using base::Problem;
using config::FieldRow;
using config::YamlEntry;
using config::YamlNode;

namespace {

constexpr const char *kOwnSeeds = "seeds", *kOwnParameters = "parameters";

}  // namespace

SweepReader::SweepReader(Sweep& out, std::vector<Problem>& problems) : out_(out), problems_(problems) {
  config::append_rows(out.settings, "", rows_);
}

void SweepReader::read(const YamlNode& root) {
  file_ = {root.place.file, 0, 0};
  const bool is_broken = root.kind == YamlNode::Kind::kNull && !problems_.empty();
  if (!is_broken) read_section(root, "");
  // Last, since the method says what a parameter may be.
  for (const YamlEntry& entry : root.entries) {
    if (entry.key != kOwnParameters) continue;
    out_.parameters = ParameterReader(out_.settings.method, problems_).read(entry.value);
  }
}

Place SweepReader::place_of(const std::string& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? file_ : found->second;
}

void SweepReader::report(const std::string& path, std::string text) {
  problems_.push_back({place_of(path), path, std::move(text)});
}

void SweepReader::read_section(const YamlNode& node, const std::string& section) {
  if (node.kind != YamlNode::Kind::kMap) {
    problems_.push_back(
        {node.place, section, "expected lines of \"key: value\"; known keys: " + base::joined(known(section))});
    return;
  }
  for (const YamlEntry& entry : node.entries) read_entry(entry, section);
}

void SweepReader::read_entry(const YamlEntry& entry, const std::string& section) {
  const std::string path = config::join_path(section, entry.key);
  const bool is_dotted = entry.key.find('.') != std::string::npos;
  const auto row = std::ranges::find(rows_, path, &FieldRow::path);
  const bool is_known = !is_dotted && (row != rows_.end() || path == kOwnSeeds || path == kOwnParameters);
  if (!is_known) {
    const auto close = base::nearest(entry.key, known(section));
    problems_.push_back({entry.place, base::shortened(path),
                         "unknown key; " + (close ? "did you mean " + *close + "? Known here: " : "known here: ") +
                             base::joined(known(section))});
    return;
  }
  places_[path] = entry.value.place;
  if (path == kOwnSeeds) {
    out_.seeds = read_seeds(entry.value, problems_);
  } else if (row == rows_.end()) {
    return;  // the parameters
  } else if (row->is_section()) {
    read_section(entry.value, path);
  } else {
    read_value(*row, entry.value, problems_);
  }
}

std::vector<std::string> SweepReader::known(const std::string& section) const {
  std::vector<std::string> keys;
  for (const FieldRow& row : rows_) {
    if (row.section() == section) keys.push_back(row.key());
  }
  if (section.empty()) keys.insert(keys.end(), {kOwnSeeds, kOwnParameters});
  return keys;
}

}  // namespace esper::sweep
