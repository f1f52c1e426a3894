#pragma once
// Fields that earlier versions had. Any thread.

#include <span>
#include <string_view>

namespace esper::config {

struct RemovedField {
  std::string_view path;
  // Its text where nobody set it. Resolved configurations of earlier versions have it, in run folders and in the
  // daemon's queue: it is passed over.
  std::string_view unset;
  // Of any other value, each with the way out: why a run file may not have it, and what a warning says where it is in
  // the config.yaml of a run.
  std::string_view refused, ignored;
};

std::span<const RemovedField> removed_fields();
// Null: this field was not removed.
const RemovedField* removed_field(std::string_view path);

}  // namespace esper::config
