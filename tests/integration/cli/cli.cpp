#include "cli.h"

#include <stdlib.h>

#include <fstream>
#include <stdexcept>

namespace esper::test {

std::string binary() { return ESPER_BINARY_DIR "/bin/esper"; }

Finished run_esper(std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  arguments.insert(arguments.begin(), binary());
  return run_program(arguments, environment);
}

nlohmann::json json_of(const Finished& finished) { return nlohmann::json::parse(finished.out, nullptr, false); }

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "esper_cli_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path / name, std::ios::binary) << text;
  return (path / name).string();
}

}  // namespace esper::test
