#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/text/problem.h"

namespace esper::config {

// The first thing in a text that no YAML parser should be bothered with: wrong encoding, control characters, tabs in
// the indentation, too many bytes. Nothing if the text is fit to be parsed.
std::optional<base::Problem> unfit_for_yaml(std::string_view text, const std::string& file);

}  // namespace esper::config
