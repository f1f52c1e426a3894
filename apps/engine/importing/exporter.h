#pragma once
// The Python program that turns a PyTorch model into the files of a host package. It runs the model's code, which
// nothing else of Esper does.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace esper::engine {

// Runs it with these arguments, which `folder` is added to as the one to write to, for ten minutes at most. Returns
// what it says of the model. Throws Error{kConfig} with its reason where it refuses the model, kResources where there
// is no Python for it or it does not end.
nlohmann::json run_exporter(std::vector<std::string> arguments, const std::string& folder);

}  // namespace esper::engine
