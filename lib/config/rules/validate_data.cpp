// The rules between the fields of data.
#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/names.h"
#include "config/data_config.h"
#include "config/facts/data_facts.h"

namespace esper::config {

using base::name_of;

namespace {

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
  } else if (data.kind != DataKind::kDigits && data.path.empty()) {
    out.push_back({"path", "data of kind " + kind + " needs a path; set data.path to the file or folder", {"kind"}});
  }
}

// A file of these formats is one part; the others may hold a test part beside the training part.
bool is_one_part(DataKind kind) {
  return kind == DataKind::kDigits || kind == DataKind::kCsv || kind == DataKind::kText;
}

void check_test_part(const DataConfig& data, Findings& out) {
  if (!data.test_path.empty() && data.test_fraction > 0) {
    out.push_back(
        {"test_fraction", "splits off a second test part beside data.test_path; set one of the two", {"test_path"}});
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
  if (data.kind == DataKind::kText) {
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

}  // namespace

void DataConfig::validate(Findings& out) const {
  check_path(*this, out);
  check_test_part(*this, out);
  check_shape(*this, out);
  const bool augmented = augment.flip || augment.crop_padding > 0;
  if (augmented && !image_shaped(*this)) {
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
