#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/process.h"

namespace esper::test {

std::string binary();
// Runs the built esper with these arguments.
Finished run_esper(std::vector<std::string> arguments, const std::vector<std::string>& environment = {});
// The one JSON value that a program printed; a discarded value if it printed anything else.
nlohmann::json json_of(const Finished& finished);

// A folder of its own, removed at the end.
struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string write(const std::string& name, const std::string& text) const;
};

}  // namespace esper::test
