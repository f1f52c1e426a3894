#pragma once
// Names that other trainers have for fields of the run file. Any thread.

#include <span>
#include <string_view>

namespace esper::config {

struct OtherName {
  std::string_view name, field;  // the field, or a section
};

std::span<const OtherName> other_names();
// "learning_rate" is training.optimizer.lr. Empty: this is none of them.
std::string_view field_of_other_name(std::string_view name);

}  // namespace esper::config
