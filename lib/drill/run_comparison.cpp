#include "drill/run_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "drill/tensor_comparison.h"

namespace esper::drill {
namespace {

using nlohmann::json;

// The first place where they differ, as a JSON pointer with both values.
std::string first_difference_of(const json& reference, const json& other) {
  const json patch = json::diff(reference, other);
  if (patch.empty()) return {};
  std::string path = patch.front().value("path", "");
  if (path.ends_with("/-")) {  // after the last element
    path.pop_back();
    path += std::to_string(reference.at(json::json_pointer(path.substr(0, path.size() - 1))).size());
  }
  const auto value_at = [&](const json& document) {
    const json::json_pointer place(path);
    return document.contains(place) ? document.at(place).dump() : std::string("nothing");
  };
  return fmt::format("{}: {}, not {}", path.empty() ? "/" : path, value_at(other), value_at(reference));
}

Aspect compare_json(const std::string& name, const json& reference, const json& other) {
  return {.name = name,
          .compared = reference.flatten().size(),
          .unit = "values",
          .difference = first_difference_of(reference, other)};
}

std::string too_few_reported(std::size_t compared, std::size_t unreported, std::size_t most_unreported) {
  if (compared == 0 && unreported > 0) return "nothing of it was reported";
  if (unreported <= most_unreported) return {};
  return fmt::format("{} epochs were not reported, and {} may be", unreported, most_unreported);
}

std::string remark_on(std::size_t unreported) {
  return unreported == 0 ? std::string() : fmt::format("{} epochs were not, or not wholly, reported", unreported);
}

Aspect compare_figures(const RunContents& reference, const RunContents& other, std::size_t most_unreported) {
  Aspect aspect{.name = "losses and other metrics of epochs", .unit = "metrics"};
  if (!other.contradictions.empty()) aspect.difference = other.contradictions.front();
  std::size_t unreported = 0;
  for (const auto& [number, epoch] : reference.epochs) {
    if (epoch.figures.empty()) continue;
    const auto found = other.epochs.find(number);
    if (found == other.epochs.end() || found->second.figures.empty()) {
      ++unreported;
      continue;
    }
    aspect.compared += epoch.figures.size();
    const auto difference = first_difference(epoch.figures, found->second.figures);
    if (aspect.difference.empty() && !difference.empty())
      aspect.difference = fmt::format("epoch {}: {}", number, difference);
  }
  if (aspect.difference.empty()) aspect.difference = too_few_reported(aspect.compared, unreported, most_unreported);
  aspect.remark = remark_on(unreported);
  return aspect;
}

// Each line of `other` is one of the reference's, in the same order; else the first that is not.
std::string first_unexpected(const std::vector<std::string>& reference, const std::vector<std::string>& other) {
  auto from = reference.begin();
  for (const auto& line : other) {
    const auto found = std::find(from, reference.end(), line);
    if (found == reference.end()) return line;
    from = std::next(found);
  }
  return {};
}

const std::vector<std::string>& events_of(const RunContents& run, std::uint32_t epoch) {
  static const std::vector<std::string> none;
  const auto found = run.epochs.find(epoch);
  return found == run.epochs.end() ? none : found->second.events;
}

Aspect compare_events(const RunContents& reference, const RunContents& other, std::size_t most_unreported) {
  Aspect aspect{.name = "decisions and growth, in their order", .unit = "events"};
  std::size_t unreported = 0;
  for (const auto& [number, epoch] : reference.epochs)
    unreported += events_of(other, number).size() < epoch.events.size() ? 1 : 0;
  for (const auto& [number, epoch] : other.epochs) {
    aspect.compared += epoch.events.size();
    const auto unexpected = first_unexpected(events_of(reference, number), epoch.events);
    if (aspect.difference.empty() && !unexpected.empty())
      aspect.difference = fmt::format("epoch {}: {} is not in the reference there", number, unexpected);
  }
  if (aspect.difference.empty()) aspect.difference = too_few_reported(aspect.compared, unreported, most_unreported);
  aspect.remark = remark_on(unreported);
  return aspect;
}

}  // namespace

std::vector<Aspect> compare_runs(const RunContents& reference, const RunContents& other, std::size_t most_unreported) {
  std::vector<Aspect> aspects{{.name = "place of the last checkpoint", .compared = 1, .unit = "names"}};
  if (other.checkpoint != reference.checkpoint)
    aspects.back().difference = other.checkpoint + ", not " + reference.checkpoint;
  std::ranges::move(compare_tensors(reference.tensors, other.tensors), std::back_inserter(aspects));
  aspects.push_back(compare_json("cursor and progress", reference.cursor, other.cursor));
  aspects.push_back(compare_json("topology", reference.topology, other.topology));
  aspects.push_back(compare_json("state of the policy", reference.controller, other.controller));
  aspects.push_back(compare_figures(reference, other, most_unreported));
  aspects.push_back(compare_events(reference, other, most_unreported));
  aspects.push_back(compare_json("outcome", reference.outcome, other.outcome));
  return aspects;
}

bool are_equal(const std::vector<Aspect>& aspects) {
  return std::ranges::all_of(aspects, [](const Aspect& aspect) { return aspect.difference.empty(); });
}

}  // namespace esper::drill
