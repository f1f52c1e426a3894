#include "base/text/problem.h"

#include <fmt/core.h>

#include <utility>

#include "base/text/printable.h"

namespace esper::base {
namespace {

std::string all_lines(const std::vector<Problem>& problems) {
  const std::string count = std::to_string(problems.size());
  std::string text = problems.size() == 1 ? "1 problem in the configuration" : count + " problems in the configuration";
  for (const Problem& problem : problems) text += "\n  " + printable_line(to_string(problem));
  return text;
}

}  // namespace

std::string to_string(const Place& place) {
  if (place.line == 0) return place.file;
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

std::string to_string(const Problem& problem) {
  const std::string path = problem.path.empty() ? "" : problem.path + ": ";
  return to_string(problem.place) + ": " + path + problem.text;
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : Error(ExitCode::kConfig, all_lines(problems)), problems_(std::move(problems)) {}

MissingResource::MissingResource(Problem problem)
    : Error(ExitCode::kResources, printable_line(to_string(problem))), problem_(std::move(problem)) {}

}  // namespace esper::base
