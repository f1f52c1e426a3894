#pragma once
// A packet has hundreds of metrics, and most readers want a few: parsing them all takes most of the time of a reader.

#include <functional>
#include <string>
#include <string_view>

namespace esper::history {

using WantedMetric = std::function<bool(std::string_view name)>;

// Copies a line without those of its metrics whose name `wanted` refuses. False, with `out` unspecified, where the
// line is not of the form that append_json_line writes; what is left out is checked no further than that. Any thread.
bool thin_line(std::string_view line, const WantedMetric& wanted, std::string& out);

}  // namespace esper::history
