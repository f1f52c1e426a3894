#pragma once
// Applies YAML documents, one after another, to one RunConfig.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/fields/removed_fields.h"
#include "config/loading/known_fields.h"
#include "config/loading/load.h"
#include "config/loading/value_places.h"
#include "config/yaml/yaml_document.h"

namespace esper::config {

class DocumentLoader {
 public:
  DocumentLoader(LoadedConfig& out, std::string run_file);

  void apply(const YamlDocument& document, DocumentKind kind);

  // Names the files in the order in which their problems are listed.
  void layer(const std::string& file) { layers_.emplace(file, layers_.size()); }
  void report(const base::Place& place, const std::string& path, std::string text);

  // The first line that keeps a document from being a run file: no YAML, no map, or a key that resembles none of a run
  // file's sections and fields. An empty document is a run file here.
  std::optional<int> foreign_line(const YamlDocument& document) const;

  // After the last document: defaults that follow other fields, the rules between fields, all problems in order, and
  // warnings.
  void finish();

 private:
  void apply_section(const YamlNode& node, const std::string& section);
  void apply_entry(const YamlEntry& entry, const std::string& section);
  void refuse_removed(const YamlEntry& entry, const RemovedField& field);
  void add_findings();
  void add_warnings(const std::function<bool(std::string_view path)>& is_given);

  LoadedConfig& out_;
  const KnownFields fields_;
  ValuePlaces places_;
  std::unordered_map<std::string, std::size_t> layers_;
  DocumentKind kind_ = DocumentKind::kRunFile;  // of the document at hand
  bool is_of_run_ = false;                      // a document was a run's own
};

}  // namespace esper::config
