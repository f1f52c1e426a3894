#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "leyline/problem.h"

namespace esper::leyline {

// The first thing in a text that no YAML parser should be bothered with: wrong encoding, control characters, tabs in
// the indentation, too many bytes. Nothing if the text is fit to be parsed.
std::optional<Problem> unfit_for_yaml(std::string_view text, const std::string& file);

}  // namespace esper::leyline
