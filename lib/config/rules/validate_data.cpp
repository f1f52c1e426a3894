// The rules between the fields of data.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/names.h"
#include "config/data_config.h"
#include "config/facts/data_facts.h"

namespace esper::config {

using base::name_of;

namespace {

// All parts come from the program.
void check_process(const DataConfig& data, Findings& out) {
  if (data.command.empty() || data.command.front().empty()) {
    out.push_back(
        {"command", "data of kind process needs a program; set data.command to it and its arguments", {"kind"}});
  }
  for (const auto& [key, path] : {std::pair{"path", &data.path}, std::pair{"validation_path", &data.validation_path},
                                  std::pair{"test_path", &data.test_path}}) {
    if (path->empty()) continue;
    out.push_back({key, "data of kind process come from data.command; give it the path as an argument", {"kind"}});
  }
  if (data.test_fraction > 0) {
    out.push_back({"test_fraction",
                   "with kind process the program decides which samples are for testing; leave it out",
                   {"kind"}});
  }
  if (data.max_samples > 0) {
    out.push_back(
        {"max_samples", "with kind process the program decides how many samples there are; leave it out", {"kind"}});
  }
  if (!data.shape.empty()) {
    out.push_back({"shape", "with kind process the program sends the shape of its samples; leave it out", {"kind"}});
  }
  if (data.augment.flip || data.augment.crop_padding > 0) {
    const std::string field = data.augment.flip ? "augment.flip" : "augment.crop_padding";
    out.push_back({field, "samples of kind process are used as they are; transform them in the program", {"kind"}});
  }
}

void check_path(const DataConfig& data, Findings& out) {
  const std::string kind(name_of(data.kind));
  if (data.kind == DataKind::kSynthetic) {
    if (!data.path.empty())
      out.push_back({"path", "data of kind synthetic is generated; leave the path out", {"kind"}});
    for (const auto& [key, path] :
         {std::pair{"validation_path", &data.validation_path}, std::pair{"test_path", &data.test_path}}) {
      if (path->empty()) continue;
      out.push_back({key, "data of kind synthetic is generated; leave the path out", {"kind"}});
    }
  } else if (data.kind == DataKind::kProcess) {
    check_process(data, out);
  } else if (data.kind != DataKind::kDigits && data.path.empty()) {
    out.push_back({"path", "data of kind " + kind + " needs a path; set data.path to the file or folder", {"kind"}});
  }
}

void check_test_part(const DataConfig& data, Findings& out) {
  if (!data.test_path.empty() && data.test_fraction > 0) {
    out.push_back(
        {"test_fraction", "splits off a second test part besides data.test_path; set one of the two", {"test_path"}});
  }
  for (const auto& [key, path] : {std::pair{"path", &data.path}, std::pair{"validation_path", &data.validation_path}}) {
    if (data.test_path.empty() || data.test_path != *path || !is_one_part(data.kind)) continue;
    out.push_back({"test_path",
                   fmt::format("must differ from data.{}; to split a part off for testing, remove it and set "
                               "data.test_fraction",
                               key),
                   {key, "kind"}});
  }
  constexpr double kRounding = 1e-9;  // 0.7 + 0.3
  const double split_off = data.validation_fraction + data.test_fraction;
  if (data.validation_path.empty() && data.test_fraction > 0 && split_off > 1 - kRounding) {
    out.push_back({"test_fraction",
                   fmt::format("{} and data.validation_fraction, {}, leave no samples for training; lower one of them "
                               "until their sum is < 1",
                               data.test_fraction, data.validation_fraction),
                   {"validation_fraction", "validation_path"}});
  }
}

void check_shape(const DataConfig& data, Findings& out) {
  if (data.shape.empty()) return;
  if (data.kind == DataKind::kText || data.kind == DataKind::kTokens) {
    out.push_back({"shape", "text has no shape; data.context sets its length", {"kind"}});
  }
  if (data.kind != DataKind::kSynthetic) return;
  double product = 1;
  for (const std::int64_t size : data.shape) product *= static_cast<double>(size);
  if (product == static_cast<double>(data.synthetic.features)) return;
  out.push_back({"shape",
                 fmt::format("its sizes must multiply to synthetic.features, {}", data.synthetic.features),
                 {"synthetic.features", "kind"}});
}

bool is_table(DataKind kind) {
  return kind == DataKind::kTable || kind == DataKind::kParquet || kind == DataKind::kDatasets;
}

// Fields that only some formats have.
void check_fields_of_kinds(const DataConfig& data, Findings& out) {
  const bool has_labels = data.kind == DataKind::kImages && !data.labels.empty();
  const bool targets = is_table(data.kind) || has_labels || data.kind == DataKind::kWebdataset;
  const auto only = [&](const char* key, bool is_set, bool fits, const char* where) {
    if (is_set && !fits) out.push_back({key, fmt::format("applies to {}", where), {"kind"}});
  };
  only("labels", !data.labels.empty(), data.kind == DataKind::kImages, "data of kind images only");
  only("command", !data.command.empty(), data.kind == DataKind::kProcess, "data of kind process only");
  only("vocabulary", !data.vocabulary.empty(), data.kind == DataKind::kTokens, "data of kind tokens only");
  only("token_type", data.token_type != TokenType::kUint16, data.kind == DataKind::kTokens, "data of kind tokens only");
  only("columns.target", !data.columns.target.empty(), targets,
       "data of kinds table, parquet, datasets and webdataset, and to images with data.labels");
  constexpr char kTables[] = "data of kinds table, parquet and datasets";
  only("columns.features", !data.columns.features.empty(), is_table(data.kind), kTables);
  only("columns.categorical", !data.columns.categorical.empty(), is_table(data.kind), kTables);
  only("columns.missing", data.columns.missing != MissingValue::kFail, is_table(data.kind), kTables);
}

void check_columns(const ColumnsConfig& columns, Findings& out) {
  const auto holds = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& name : columns.features) {
    if (!holds(columns.target, name)) continue;
    out.push_back({"columns.features", "\"" + name + "\" is a target as well", {"columns.target"}});
  }
  for (const auto& name : columns.categorical) {
    if (columns.features.empty() || holds(columns.features, name)) continue;
    out.push_back(
        {"columns.categorical", "\"" + name + "\" is not one of data.columns.features", {"columns.features"}});
  }
}

}  // namespace

void DataConfig::validate(Findings& out) const {
  check_path(*this, out);
  check_test_part(*this, out);
  check_shape(*this, out);
  check_fields_of_kinds(*this, out);
  check_columns(columns, out);
  const bool augmented = augment.flip || augment.crop_padding > 0;
  if (augmented && kind != DataKind::kProcess && !image_shaped(*this)) {
    const std::string field = augment.flip ? "augment.flip" : "augment.crop_padding";
    out.push_back({field,
                   "only images can be augmented; set data.shape to [channels, height, width] if these are images",
                   {"shape", "kind"}});
  }
  if (image_size > 0 && !image_shaped(*this)) {
    out.push_back({"image_size", "only images can be scaled, and data.kind is not an image format", {"shape", "kind"}});
  }
}

}  // namespace esper::config
