#include "base/fault.h"

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/parse_number.h"

namespace esper::base::fault {
namespace internal {
std::atomic<int> armed{1};
}  // namespace internal

namespace {

struct Armed {
  std::uint64_t nth = 1, times = 1, hits = 0;
};

using Points = std::map<std::string, Armed, std::less<>>;

struct State {
  std::mutex mutex;
  Points points;
  bool environment_read = false;
};

State& state() {
  static State instance;
  return instance;
}

[[noreturn]] void fail(std::string_view entry) {
  throw Error(ExitCode::kConfig, "cannot read \"" + std::string(entry) +
                                     "\"; write point@n or point@nxm, like storage.publish@3 or data.batch@10x2");
}

std::uint64_t number(std::string_view text, std::string_view entry) {
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value == 0) fail(entry);
  return *value;
}

void arm_entry(std::string_view entry, Points& points) {
  const std::size_t at = entry.find('@');
  if (at == 0 || at == std::string_view::npos) fail(entry);
  const std::string_view counts = entry.substr(at + 1);
  const std::size_t cross = counts.find('x');
  Armed armed;
  armed.nth = number(counts.substr(0, cross), entry);
  if (cross != std::string_view::npos) {
    const std::string_view times = counts.substr(cross + 1);
    armed.times = times == "*" ? kEveryHit : number(times, entry);
  }
  if (!points.emplace(entry.substr(0, at), armed).second)
    throw Error(ExitCode::kConfig, fmt::format("the point {} is given twice", entry.substr(0, at)));
}

Points parse_points(std::string_view text) {
  Points points;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    arm_entry(text.substr(0, comma), points);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return points;
}

void arm_list(std::string_view text, Points& points) {
  for (const auto& [point, armed] : parse_points(text)) points.insert_or_assign(point, armed);
}

void publish(const State& s) {
  internal::armed.store(s.points.empty() && s.environment_read ? 0 : 1, std::memory_order_relaxed);
}

void read_environment(State& s) {
  if (s.environment_read) return;
  s.environment_read = true;
  const char* const text = std::getenv("ESPER_FAULTS");
  if (text == nullptr) return;
  if (const auto problem = problem_of(text); !problem.empty())
    throw Error(ExitCode::kConfig, "ESPER_FAULTS: " + problem);
  arm_list(text, s.points);
}

}  // namespace

bool internal::hit_armed(std::string_view point) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.environment_read) {
    read_environment(s);
    publish(s);
  }
  const auto found = s.points.find(point);
  if (found == s.points.end()) return false;
  Armed& counted = found->second;
  ++counted.hits;
  return counted.hits >= counted.nth && counted.hits - counted.nth < counted.times;
}

void arm(std::string_view point, std::uint64_t nth, std::uint64_t times) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.points.insert_or_assign(std::string(point), Armed{nth, times, 0});
  publish(s);
}

void arm_from_text(std::string_view text) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  arm_list(text, s.points);
  publish(s);
}

std::string problem_of(std::string_view text) {
  try {
    parse_points(text);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void arm_from_environment() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  read_environment(s);
  publish(s);
}

void disarm_all() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.points.clear();
  s.environment_read = true;
  publish(s);
}

std::vector<std::string> unfired() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::vector<std::string> points;
  for (const auto& [point, armed] : s.points) {
    if (armed.hits < armed.nth) points.push_back(point);
  }
  return points;
}

std::string unfired_text(std::string_view point) {
  return "the fault point " + std::string(point) + " never fired: no such point, or not hit so often";
}

bool is_armed(std::string_view point) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  read_environment(s);
  publish(s);
  return s.points.contains(point);
}

std::uint64_t hits(std::string_view point) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.points.find(point);
  return found == s.points.end() ? 0 : found->second.hits;
}

}  // namespace esper::base::fault
