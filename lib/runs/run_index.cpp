#include "runs/run_index.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "runs/find_runs.h"
#include "runs/read_run_record.h"
#include "runs/run_stamp.h"

namespace esper::runs {
namespace {

constexpr unsigned kMostThreads = 4;
constexpr std::size_t kRunsPerThread = 16;  // fewer are not worth one

bool is_unchanged(const RunRecord& known) {
  try {
    return !known.stamp.empty() && read_run_stamp(known.path) == known.stamp;
  } catch (const base::Error&) {
    return false;
  }
}

// Calls work(i) for each i below count, from several threads.
template <class Work>
void for_each_index(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(cores, count / kRunsPerThread); ++i) others.emplace_back(take);
  take();
}

}  // namespace

Refreshed refresh(std::vector<RunRecord> known, const std::vector<std::string>& roots) {
  std::unordered_map<std::string, RunRecord*> by_path;
  for (auto& record : known) by_path[record.path] = &record;
  auto found = find_runs(roots);
  Refreshed result;
  result.problems = std::move(found.problems);
  result.runs.resize(found.folders.size());
  std::atomic<std::size_t> kept{0}, seen{0};
  for_each_index(found.folders.size(), [&](std::size_t i) {
    const auto before = by_path.find(found.folders[i]);
    if (before != by_path.end()) ++seen;
    if (before != by_path.end() && is_unchanged(*before->second)) {
      ++kept;
      result.runs[i] = std::move(*before->second);
    } else {
      result.runs[i] = read_run_record(found.folders[i]);
    }
  });
  result.kept = kept;
  result.read = result.runs.size() - kept;
  result.gone = by_path.size() - seen;
  return result;
}

}  // namespace esper::runs
