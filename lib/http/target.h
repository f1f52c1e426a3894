#pragma once
// The target of a request: path and query. Any thread.

#include <map>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace esper::http {

struct Target {
  std::string path;
  std::map<std::string, std::string> query;
};

// From the form "/path?name=value&...". Both parts are percent-decoded, "+" in the query is a blank. Refused: other
// forms, incomplete escapes, ill-formed UTF-8, NUL, control characters in the path, a name that comes twice.
base::Expected<Target> parse_target(std::string_view text);

// For a part of a path or query: everything but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace esper::http
