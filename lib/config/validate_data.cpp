// The rules between the fields of data.
#include <fmt/core.h>

#include <string>

#include "base/names.h"
#include "config/data_config.h"
#include "config/data_facts.h"

namespace esper::config {

using base::name_of;

namespace {

void check_path(const DataConfig& data, Findings& out) {
  const std::string kind(name_of(data.kind));
  if (data.kind == DataKind::kSynthetic) {
    if (!data.path.empty())
      out.push_back({"path", "data of kind synthetic is generated; leave the path out", {"kind"}});
    if (!data.validation_path.empty()) {
      out.push_back({"validation_path", "data of kind synthetic is generated; leave the path out", {"kind"}});
    }
  } else if (data.kind != DataKind::kDigits && data.path.empty()) {
    out.push_back({"path", "data of kind " + kind + " needs a path", {"kind"}});
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
