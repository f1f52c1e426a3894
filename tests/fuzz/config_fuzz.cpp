// Run files: whatever is accepted can be written, and reads back as the same configuration.

#include <filesystem>
#include <iterator>

#include "config/loading/load.h"
#include "config/writing/write.h"
#include "fuzz/fuzzing.h"

namespace esper::fuzz {

std::vector<std::string> seeds() {
  config::RunConfig config;
  config.host.hidden = {8, 16};
  config.growth.slots = {"r0c0"};
  std::vector<std::string> found = {
      config::resolved_yaml(config), "base: &b {epochs: 3}\nhost: {kind: mlp, hidden: [8, 8]} # anchors\n",
      "epochs: 3\nextends: other.yaml\n'name': \"a\\tb\"\ntraining:\n  optimizer:\n    lr: 1.e-3\n"};
  for (const auto& file : std::filesystem::directory_iterator(ESPER_SOURCE_DIR "/configs/run")) {
    std::ifstream in(file.path(), std::ios::binary);
    found.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return found;
}

namespace {

// Whether it was accepted.
bool check(const std::string& text, config::DocumentKind kind) {
  const auto loaded = config::read_run_config_text(text, "f", {}, kind);
  if (!loaded.problems.empty()) return false;
  const auto written = config::resolved_yaml(loaded.config);
  const auto again = config::read_run_config_text(written, "f");
  if (!again.problems.empty()) std::fprintf(stderr, "%s\n", to_string(again.problems.front()).c_str());
  expect(again.problems.empty(), "what was accepted is accepted as it is written");
  expect(config::resolved_yaml(again.config) == written, "what was written reads back as the same");
  return true;
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  using Kind = esper::config::DocumentKind;
  if (!esper::fuzz::check(text, Kind::kRunFile)) esper::fuzz::check(text, Kind::kOfRun);
  return 0;
}
