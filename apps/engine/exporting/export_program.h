#pragma once
// PyTorch's part of an export: a Python process that writes a format and compares it with Esper's outputs.

#include <optional>
#include <string>

#include "engine/exporting/export_network.h"
#include "esper/engine_api.h"

namespace esper::engine {

struct Checked {
  std::optional<double> difference;  // from Esper's outputs, as a share of the largest; empty: nothing was run
  std::string checked_by;            // what ran it: "PyTorch"
  std::string file;                  // name of what was written beside the parts; empty: nothing
};

// The Python of an export. Throws Error{kResources}, with the way out, where there is none with torch.
std::string require_python(const ExportRequest& request);

// folder: with what ExportNetwork::write_parts() wrote, and returned as `text`. Throws Error: kResources with the
// reason where the format cannot be written, kBug where what was written does not compute what Esper does.
Checked write_and_check(const ExportRequest& request, const std::string& python, const std::string& folder,
                        const std::string& text);

}  // namespace esper::engine
