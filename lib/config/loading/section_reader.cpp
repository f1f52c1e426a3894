#include "config/loading/section_reader.h"

#include <algorithm>
#include <utility>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/loading/read_value.h"

namespace esper::config {

SectionReader::SectionReader(std::vector<FieldRow> rows, std::vector<base::Problem>& problems)
    : rows_(std::move(rows)), problems_(problems) {}

void SectionReader::read(const YamlNode& root) {
  file_ = {root.place.file, 0, 0};
  const bool is_broken = root.kind == YamlNode::Kind::kNull && !problems_.empty();
  if (!is_broken) read_section(root, "");
}

base::Place SectionReader::place_of(const std::string& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? file_ : found->second;
}

void SectionReader::report(const std::string& path, std::string text) {
  problems_.push_back({place_of(path), path, std::move(text)});
}

void SectionReader::read_section(const YamlNode& node, const std::string& section) {
  if (node.kind != YamlNode::Kind::kMap) {
    problems_.push_back(
        {node.place, section, "expected lines of \"key: value\"; known keys: " + base::joined(known(section))});
    return;
  }
  for (const YamlEntry& entry : node.entries) read_entry(entry, section);
}

void SectionReader::read_entry(const YamlEntry& entry, const std::string& section) {
  const std::string path = join_path(section, entry.key);
  const bool is_dotted = entry.key.find('.') != std::string::npos;
  const auto row = is_dotted ? rows_.end() : std::ranges::find(rows_, path, &FieldRow::path);
  const auto own =
      is_dotted ? own_keys_.end() : std::ranges::find(own_keys_, path, &std::pair<std::string, ReadKey>::first);
  if (row == rows_.end() && own == own_keys_.end()) {
    const auto close = base::nearest(entry.key, known(section));
    problems_.push_back({entry.place, base::shortened(path),
                         "unknown key; " + (close ? "did you mean " + *close + "? Known here: " : "known here: ") +
                             base::joined(known(section))});
    return;
  }
  places_[path] = entry.value.place;
  if (own != own_keys_.end()) {
    own->second(entry.value);
  } else if (row->is_section()) {
    read_section(entry.value, path);
  } else {
    read_value(*row, entry.value, problems_);
  }
}

std::vector<std::string> SectionReader::known(const std::string& section) const {
  std::vector<std::string> keys;
  for (const FieldRow& row : rows_) {
    if (row.section() == section) keys.push_back(row.key());
  }
  if (section.empty()) {
    for (const auto& [key, read] : own_keys_) keys.push_back(key);
  }
  return keys;
}

}  // namespace esper::config
