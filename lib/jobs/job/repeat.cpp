#include "jobs/job/repeat.h"

#include <fmt/core.h>

#include <string_view>

#include "jobs/job/run_folder.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kSeedLine = "\nseed: ";

// Reading and writing the whole file for each of thousands of seeds would take the daemon's time.
std::optional<std::string> config_with_seed(const std::string& config, std::uint64_t seed) {
  const std::string text = "\n" + config;
  const auto at = text.find(kSeedLine);
  if (at == std::string::npos || text.find(kSeedLine, at + 1) != std::string::npos) return std::nullopt;
  const auto end = std::min(text.find('\n', at + 1), text.size());
  return text.substr(1, at) + std::string(kSeedLine.substr(1)) + std::to_string(seed) + text.substr(end);
}

}  // namespace

std::string run_dir_of_seed(const std::string& run_dir, std::uint64_t seed) {
  return fmt::format("{}-seed-{}", one_form(run_dir), seed);
}

std::optional<Submission> with_seed(const Submission& submission, std::uint64_t seed) {
  const auto config = config_with_seed(submission.config, seed);
  if (!config) return std::nullopt;
  Submission one = submission;
  one.config = *config;
  one.seeds.clear();
  one.name += fmt::format("-seed-{}", seed);
  if (!one.run_dir.empty()) one.run_dir = run_dir_of_seed(one.run_dir, seed);
  if (!one.token.empty()) one.token += fmt::format("/{}", seed);
  return one;
}

}  // namespace esper::jobs
