#include "config/loading/document_loader.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/text/printable.h"
#include "config/loading/read_value.h"
#include "config/rules/doubtful_settings.h"
#include "config/rules/fit_defaults.h"
#include "config/rules/without_effect.h"
#include "config/writing/earlier_versions.h"

namespace esper::config {

using base::Place;
using base::Problem;
using base::shortened;

namespace {

// Where a section was given its kind alone.
std::string hint_of_kind(const FieldRow* kind, const YamlNode& given) {
  if (kind == nullptr || given.kind != YamlNode::Kind::kScalar) return "";
  const auto* choice = std::get_if<EnumField>(&kind->value);
  if (choice != nullptr && std::ranges::count(choice->names, given.text) == 0) return "";
  return "; write {kind: " + base::printable_line(shortened(given.text)) + "}";
}

}  // namespace

DocumentLoader::DocumentLoader(LoadedConfig& out, std::string run_file)
    : out_(out), fields_(out.config), places_(out.origins, std::move(run_file)) {}

void DocumentLoader::apply(const YamlDocument& document, DocumentKind kind) {
  kind_ = kind;
  is_of_run_ |= kind == DocumentKind::kOfRun;
  layer(document.root.place.file);
  out_.problems.insert(out_.problems.end(), document.problems.begin(), document.problems.end());
  const bool is_null = document.root.kind == YamlNode::Kind::kNull;
  if (is_null && !document.problems.empty()) return;
  // A text without keys is more likely one that is missing, and a run keeps every field.
  if (is_null && kind == DocumentKind::kRunFile) {
    out_.warnings.push_back({document.root.place, "", "has no keys: it changes no default"});
  } else {
    apply_section(document.root, "");
  }
}

void DocumentLoader::report(const Place& place, const std::string& path, std::string text) {
  out_.problems.push_back({place, path, std::move(text)});
}

std::optional<int> DocumentLoader::foreign_line(const YamlDocument& document) const {
  const YamlNode& root = document.root;
  const bool is_map = root.kind == YamlNode::Kind::kMap;
  if (!is_map && !document.problems.empty()) return document.problems.front().place.line;
  if (!is_map && root.kind != YamlNode::Kind::kNull) return root.place.line;
  for (const YamlEntry& entry : root.entries) {
    if (!fields_.resembles_top_key(entry.key)) return entry.place.line;
  }
  return std::nullopt;
}

void DocumentLoader::finish() {
  const auto is_given = [&](std::string_view path) { return out_.origins.contains(std::string(path)); };
  if (is_of_run_) apply_earlier_behaviour(out_.config, is_given);
  fit_defaults(out_.config, is_given);
  add_findings();
  add_warnings(is_given);
  const auto rank = [&](const Problem& problem) {
    const auto found = layers_.find(problem.place.file);
    return std::tuple(found == layers_.end() ? layers_.size() : found->second, problem.place.line,
                      problem.place.column);
  };
  std::stable_sort(out_.problems.begin(), out_.problems.end(),
                   [&](const Problem& a, const Problem& b) { return rank(a) < rank(b); });
}

void DocumentLoader::apply_section(const YamlNode& node, const std::string& section) {
  if (node.kind != YamlNode::Kind::kMap) {
    return report(node.place, section,
                  "expected a section, that is lines of \"key: value\"" +
                      hint_of_kind(fields_.find(join_path(section, "kind")), node) +
                      "; known keys: " + fields_.keys_of(section, kind_));
  }
  for (const YamlEntry& entry : node.entries) {
    const bool extends = section.empty() && entry.key == kExtends;
    if (!extends) apply_entry(entry, section);
  }
}

void DocumentLoader::apply_entry(const YamlEntry& entry, const std::string& section) {
  const std::string path = join_path(section, entry.key);
  const FieldRow* const row = fields_.find(path);
  const bool dotted = entry.key.find('.') != std::string::npos;
  if (const RemovedField* removed = dotted ? nullptr : removed_field(path)) return refuse_removed(entry, *removed);
  if (row == nullptr || dotted) {
    return report(entry.place, shortened(path), fields_.unknown_key(entry.key, section, kind_));
  }
  places_.record(path, entry.value);
  if (row->is_section()) {
    apply_section(entry.value, path);
  } else {
    read_value(*row, entry.value, out_.problems);
  }
}

void DocumentLoader::refuse_removed(const YamlEntry& entry, const RemovedField& field) {
  if (entry.value.kind == YamlNode::Kind::kScalar && entry.value.text == field.unset) return;
  const std::string path(field.path);
  if (kind_ != DocumentKind::kOfRun) return report(entry.place, path, std::string(field.refused));
  out_.warnings.push_back({entry.place, path, std::string(field.ignored)});
}

void DocumentLoader::add_findings() {
  std::set<std::string> unread;
  for (const Problem& problem : out_.problems) unread.insert(problem.path.substr(0, problem.path.find('[')));
  const auto is_unread = [&](const std::string& path) { return unread.contains(path.substr(0, path.find('['))); };
  for (const Finding& finding : validate_all(out_.config)) {
    const bool doubtful = is_unread(finding.path) || std::any_of(finding.also.begin(), finding.also.end(), is_unread);
    if (!doubtful) report(places_.of(finding), finding.path, finding.text);
  }
}

// A run keeps what it was begun with: its user was warned then.
void DocumentLoader::add_warnings(const std::function<bool(std::string_view path)>& is_given) {
  if (is_of_run_) return;
  for (const Findings& findings : {settings_without_effect(out_.config, is_given), doubtful_settings(out_.config)}) {
    for (const Finding& finding : findings) {
      out_.warnings.push_back({places_.of(finding), finding.path, finding.text});
    }
  }
}

}  // namespace esper::config
