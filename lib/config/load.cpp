#include "config/load.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "base/text/text_file.h"
#include "base/text/utf8.h"
#include "config/assignment.h"
#include "config/earlier_versions.h"
#include "config/field_table.h"
#include "config/fit_defaults.h"
#include "config/read_value.h"
#include "config/yaml_document.h"

namespace esper::config {

using base::ConfigError;
using base::first_control_character;
using base::joined;
using base::nearest;
using base::Place;
using base::Problem;
using base::read_text_file;
using base::shortened;
using base::Streams;

namespace {

constexpr std::string_view kExtends = "extends";
constexpr std::string_view kOnlyFilesExtend = "only a file can extend another one";

// A field of earlier versions: a run file from elsewhere must not bring code that this process loads.
constexpr std::string_view kCacheDir = "step.compile.cache_dir";
constexpr std::string_view kCacheDirRefused =
    "compiled programs are native code, so a run file cannot set their folder; remove this line and use --cache-dir or "
    "ESPER_CACHE";
constexpr std::string_view kCacheDirIgnored =
    "is ignored: only --cache-dir and ESPER_CACHE set the folder of compiled programs";

// Applies documents one after another to one config.
class Loader {
 public:
  Loader(LoadedConfig& out, std::string run_file)
      : out_(out), rows_(field_table(out.config)), run_file_(std::move(run_file)) {
    for (const FieldRow& row : rows_) {
      by_path_.emplace(row.path, &row);
      keys_[row.section()].push_back(row.key());
    }
  }

  void apply(const YamlDocument& document, DocumentKind kind = DocumentKind::kRunFile) {
    kind_ = kind;
    is_of_run_ |= kind == DocumentKind::kOfRun;
    layer(document.root.place.file);
    out_.problems.insert(out_.problems.end(), document.problems.begin(), document.problems.end());
    const bool broken = document.root.kind == YamlNode::Kind::kNull && !document.problems.empty();
    if (!broken) apply_section(document.root, "");
  }

  // Names the files in the order in which their problems are listed.
  void layer(const std::string& file) { layers_.emplace(file, layers_.size()); }
  void report(const Place& place, const std::string& path, std::string text) {
    out_.problems.push_back({place, path, std::move(text)});
  }

  // The first line that keeps a document from being a run file: no YAML, no map, or a key that resembles none of a run
  // file's sections and fields. An empty document is a run file here.
  std::optional<int> foreign_line(const YamlDocument& document) const {
    const YamlNode& root = document.root;
    const bool is_map = root.kind == YamlNode::Kind::kMap;
    if (!is_map && !document.problems.empty()) return document.problems.front().place.line;
    if (!is_map && root.kind != YamlNode::Kind::kNull) return root.place.line;
    for (const YamlEntry& entry : root.entries) {
      if (entry.key != kExtends && !nearest(entry.key, keys_.at(""))) return entry.place.line;
    }
    return std::nullopt;
  }

  void finish() {
    const auto is_given = [&](std::string_view path) { return out_.origins.contains(std::string(path)); };
    if (is_of_run_) apply_earlier_behaviour(out_.config, is_given);
    fit_defaults(out_.config, is_given);
    add_findings();
    const auto rank = [&](const Problem& problem) {
      const auto found = layers_.find(problem.place.file);
      return std::tuple(found == layers_.end() ? layers_.size() : found->second, problem.place.line,
                        problem.place.column);
    };
    std::stable_sort(out_.problems.begin(), out_.problems.end(),
                     [&](const Problem& a, const Problem& b) { return rank(a) < rank(b); });
  }

 private:
  void apply_section(const YamlNode& node, const std::string& section) {
    if (node.kind != YamlNode::Kind::kMap) {
      return report(node.place, section,
                    "expected a section, that is lines of \"key: value\"; known keys: " + known(section));
    }
    for (const YamlEntry& entry : node.entries) {
      const bool extends = section.empty() && entry.key == kExtends;
      if (!extends) apply_entry(entry, section);
    }
  }

  void apply_entry(const YamlEntry& entry, const std::string& section) {
    const std::string path = join_path(section, entry.key);
    const auto found = by_path_.find(path);
    const bool dotted = entry.key.find('.') != std::string::npos;
    if (path == kCacheDir && !dotted) return refuse_cache_dir(entry);
    if (found == by_path_.end() || dotted) {
      return report(entry.place, shortened(path), unknown_key(entry.key, section));
    }
    out_.origins[path] = entry.value.place;
    record_items(path, entry.value);
    const FieldRow& row = *found->second;
    if (row.is_section()) {
      apply_section(entry.value, path);
    } else {
      read_value(row, entry.value, out_.problems);
    }
  }

  // Run folders of earlier versions have it empty: then nothing was asked for.
  void refuse_cache_dir(const YamlEntry& entry) {
    if (entry.value.kind == YamlNode::Kind::kScalar && entry.value.text.empty()) return;
    const std::string path(kCacheDir);
    if (kind_ == DocumentKind::kRunFile) return report(entry.place, path, std::string(kCacheDirRefused));
    out_.warnings.push_back({entry.place, path, std::string(kCacheDirIgnored)});
  }

  void record_items(const std::string& path, const YamlNode& value) {
    std::vector<Place>& places = items_[path];
    places.clear();
    for (const YamlNode& item : value.items) places.push_back(item.place);
  }

  std::string known(const std::string& section) const { return joined(keys_.at(section)); }

  std::string unknown_key(const std::string& key, const std::string& section) const {
    std::vector<std::string> elsewhere;
    for (const FieldRow& row : rows_) {
      if (row.path == key || row.key() == key) elsewhere.push_back(row.path);
    }
    constexpr std::size_t kFew = 3;
    if (const auto close = nearest(key, keys_.at(section))) {
      return "unknown key; did you mean " + *close + "? Known here: " + known(section);
    }
    if (!elsewhere.empty() && elsewhere.size() <= kFew) {
      return fmt::format("unknown key; there is {}. Known here: {}", joined(elsewhere), known(section));
    }
    return "unknown key; known here: " + known(section);
  }

  void add_findings() {
    std::set<std::string> unread;
    for (const Problem& problem : out_.problems) unread.insert(problem.path.substr(0, problem.path.find('[')));
    const auto is_unread = [&](const std::string& path) { return unread.contains(path.substr(0, path.find('['))); };
    for (const Finding& finding : validate_all(out_.config)) {
      const bool doubtful = is_unread(finding.path) || std::any_of(finding.also.begin(), finding.also.end(), is_unread);
      if (!doubtful) report(place_of(finding), finding.path, finding.text);
    }
  }

  // Of "growth.slots[1]"; null where the path names no item that was given.
  const Place* item_place(const std::string& path) const {
    const std::size_t bracket = path.find('[');
    if (bracket == std::string::npos) return nullptr;
    const auto found = items_.find(path.substr(0, bracket));
    const std::size_t index = std::stoul(path.substr(bracket + 1));
    return found == items_.end() || index >= found->second.size() ? nullptr : &found->second[index];
  }

  // Where the item or field was given, else one that its rule looked at, else its section, else the run file as a
  // whole.
  Place place_of(const Finding& finding) const {
    if (const Place* item = item_place(finding.path)) return *item;
    std::vector<std::string> paths{finding.path.substr(0, finding.path.find('['))};
    paths.insert(paths.end(), finding.also.begin(), finding.also.end());
    for (std::string section = paths.front(); section.find('.') != std::string::npos;) {
      section = section.substr(0, section.rfind('.'));
      paths.push_back(section);
    }
    for (const std::string& path : paths) {
      if (const auto found = out_.origins.find(path); found != out_.origins.end()) return found->second;
    }
    return {run_file_, 0, 0};
  }

  LoadedConfig& out_;
  std::vector<FieldRow> rows_;
  std::unordered_map<std::string, const FieldRow*> by_path_;
  std::unordered_map<std::string, std::vector<std::string>> keys_;  // of each section
  std::unordered_map<std::string, std::vector<Place>> items_;       // of each list that was given
  std::unordered_map<std::string, std::size_t> layers_;
  std::string run_file_;
  DocumentKind kind_ = DocumentKind::kRunFile;  // of the document at hand
  bool is_of_run_ = false;                      // a document was a run's own
};

const YamlEntry* extends_entry(const YamlNode& root) {
  for (const YamlEntry& entry : root.entries) {
    if (entry.key == kExtends) return &entry;
  }
  return nullptr;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

// The document of a file, after all that it builds on: the farthest first.
class Chain {
 public:
  explicit Chain(Loader& loader) : loader_(loader) {}

  void apply(const YamlDocument& document, const std::string& path) {
    files_.push_back(path);
    if (const YamlEntry* base = extends_entry(document.root)) apply_base(*base);
    loader_.apply(document);
  }

 private:
  void apply_base(const YamlEntry& entry) {
    const auto refuse = [&](const std::string& text) {
      const bool has_place = entry.value.kind != YamlNode::Kind::kNull;  // the parser knows none of a null's
      loader_.report(has_place ? entry.value.place : entry.place, std::string(kExtends), text);
    };
    const bool names_file = entry.value.kind == YamlNode::Kind::kScalar && !entry.value.text.empty();
    if (!names_file || first_control_character(entry.value.text)) {
      return refuse("expected the name of one file, like extends: base.yaml; or leave the line out");
    }
    const std::string base = (std::filesystem::path(files_.back()).parent_path() / entry.value.text).string();
    const auto is_base = [&](const std::string& file) { return is_same_file(file, base); };
    if (const auto first = std::find_if(files_.begin(), files_.end(), is_base); first != files_.end()) {
      std::string circle;
      for (auto file = first; file != files_.end(); ++file) circle += *file + " -> ";
      return refuse("includes itself: " + circle + *first);
    }
    constexpr std::size_t kLongest = 16;
    if (files_.size() == kLongest)
      return refuse(
          fmt::format("is the {}th file of a chain of extends; the last one cannot extend another", kLongest));
    const auto file = read_text_file(base, YamlLimits::kBytes, Streams::kRefused);
    if (!file) {
      return refuse(base + " " + file.error() +
                    "; name a run file, relative to the folder of this one, or leave the line out");
    }
    const YamlDocument document = parse_yaml(*file, base);
    // Whoever wrote this run file chose the other one, which may be private to the user: nothing of it is shown.
    if (const auto line = loader_.foreign_line(document)) {
      const std::string place = *line > 0 ? fmt::format(" (line {})", *line) : "";
      return refuse(base + " is not a run file" + place + "; if it is meant to be one: esper config check " + base);
    }
    apply(document, base);
  }

  Loader& loader_;
  std::vector<std::string> files_;  // that lead here
};

void apply_assignments(const std::vector<std::string>& assignments, Loader& loader) {
  for (const std::string& text : assignments) {
    const YamlDocument document = assignment_document(text);
    if (const YamlEntry* base = extends_entry(document.root); base != nullptr && document.problems.empty()) {
      loader.layer(base->place.file);
      loader.report(base->place, std::string(kExtends), std::string(kOnlyFilesExtend));
    }
    loader.apply(document);
  }
}

}  // namespace

LoadedConfig read_run_config(const std::string& path, const std::vector<std::string>& assignments) {
  LoadedConfig out;
  Loader loader(out, path);
  const YamlDocument document = read_yaml(path);
  Chain(loader).apply(document, path);
  apply_assignments(assignments, loader);
  loader.finish();
  return out;
}

LoadedConfig read_run_config_text(std::string_view text, const std::string& name,
                                  const std::vector<std::string>& assignments, DocumentKind kind) {
  LoadedConfig out;
  Loader loader(out, name);
  const YamlDocument document = parse_yaml(text, name);
  if (const YamlEntry* base = extends_entry(document.root)) {
    loader.layer(name);
    loader.report(base->place, std::string(kExtends), std::string(kOnlyFilesExtend));
  }
  loader.apply(document, kind);
  apply_assignments(assignments, loader);
  loader.finish();
  return out;
}

RunConfig load_run_config(const std::string& path, const std::vector<std::string>& assignments) {
  LoadedConfig loaded = read_run_config(path, assignments);
  if (!loaded.problems.empty()) throw ConfigError(std::move(loaded.problems));
  return std::move(loaded.config);
}

}  // namespace esper::config
