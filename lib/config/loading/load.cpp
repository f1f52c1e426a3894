#include "config/loading/load.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text/text_file.h"
#include "base/text/utf8.h"
#include "config/loading/assignment.h"
#include "config/loading/document_loader.h"

namespace esper::config {

using base::ConfigError;
using base::first_control_character;
using base::read_text_file;
using base::Streams;

namespace {

constexpr std::string_view kOnlyFilesExtend = "only a file can extend another one";

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
  explicit Chain(DocumentLoader& loader) : loader_(loader) {}

  void apply(const YamlDocument& document, const std::string& path) {
    files_.push_back(path);
    if (const YamlEntry* base = extends_entry(document.root)) apply_base(*base);
    loader_.apply(document, DocumentKind::kRunFile);
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

  DocumentLoader& loader_;
  std::vector<std::string> files_;  // that lead here
};

void apply_assignments(const std::vector<std::string>& assignments, DocumentLoader& loader) {
  for (const std::string& text : assignments) {
    const YamlDocument document = assignment_document(text);
    if (const YamlEntry* base = extends_entry(document.root); base != nullptr && document.problems.empty()) {
      loader.layer(base->place.file);
      loader.report(base->place, std::string(kExtends), std::string(kOnlyFilesExtend));
    }
    loader.apply(document, DocumentKind::kText);
  }
}

}  // namespace

LoadedConfig read_run_config(const std::string& path, const std::vector<std::string>& assignments) {
  LoadedConfig out;
  DocumentLoader loader(out, path);
  const YamlDocument document = read_yaml(path);
  Chain(loader).apply(document, path);
  apply_assignments(assignments, loader);
  loader.finish();
  return out;
}

LoadedConfig read_run_config_text(std::string_view text, const std::string& name,
                                  const std::vector<std::string>& assignments, DocumentKind kind) {
  LoadedConfig out;
  DocumentLoader loader(out, name);
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
