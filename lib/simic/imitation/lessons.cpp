#include "simic/imitation/lessons.h"

#include <fmt/core.h>

#include <algorithm>

#include "simic/imitation/fate.h"
#include "simic/imitation/target.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/graph/build_graph.h"

namespace esper::simic {

using history::DecisionEntry;
using leyline::Observation;
using tamiyo::Normaliser;

namespace {

Observation seen_in(const DecisionEntry& entry, const SightSettings& sight) {
  return sight.see_times ? entry.record.observation : tamiyo::without_times(entry.record.observation);
}

// Chan, Golub and LeVeque 1983.
void join(const tamiyo::Sample& more, tamiyo::Sample& all) {
  if (more.count == 0) return;
  const auto a = static_cast<double>(all.count), b = static_cast<double>(more.count);
  const double apart = more.mean - all.mean;
  all.count += more.count;
  all.mean += apart * b / (a + b);
  all.squares += more.squares + apart * apart * a * b / (a + b);
}

}  // namespace

Normaliser normaliser_over(const std::vector<TaughtRun>& runs) {
  tamiyo::Samples all{};
  tamiyo::GraphBuilder builder;
  for (const auto& [log, sight, answers] : runs) {
    for (const auto& entry : log.entries) {
      const Observation seen = seen_in(entry, sight(entry.process));
      builder.read(seen);
      const auto samples = builder.samples();
      for (std::size_t i = 0; i < all.size(); ++i) join(samples[i], all[i]);
    }
  }
  Normaliser normaliser;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].count == 0) continue;
    const double variance = all[i].squares / static_cast<double>(all[i].count);
    normaliser.moments[i] = {all[i].mean, std::max(variance, Normaliser::kLeastVariance)};
  }
  return normaliser;
}

Lessons lessons_of(const TaughtRun& taught, Normaliser normaliser, std::size_t run) {
  Lessons found;
  tamiyo::GraphBuilder builder;
  const auto& entries = taught.log.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& record = entries[i].record;
    const SightSettings sight = taught.sight(entries[i].process);
    const Observation seen = seen_in(entries[i], sight);
    builder.read(seen);
    builder.update(normaliser);
    const auto& answer = taught.answers.at(i);
    if (!answer) {
      ++found.unanswered;
      continue;
    }
    const auto& built = builder.build(normaliser);
    auto target = target_of({record.observation, *answer, built.candidates, sight.max_seeds});
    if (!target) {
      found.left_out.push_back(fmt::format("epoch {}: {}", record.observation.current_epoch, target.error()));
      continue;
    }
    add_hindsight(taught.log, i, built.candidates, *target);
    found.lessons.push_back({built.graph, *std::move(target), run, record.observation.current_epoch});
  }
  return found;
}

}  // namespace esper::simic
