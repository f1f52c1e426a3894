#include "tolaria/safety/loss_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace esper::tolaria {
namespace {

using Kind = LossVerdict::Kind;

constexpr std::size_t kWindow = 20, kFewest = 10;
constexpr double kSigmas = 6;
constexpr std::int32_t kSuspectsInARow = 3;
constexpr double kBetterThanGuessing = 0.6, kNearGuessing = 0.065;

double mean_of(std::span<const double> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

bool has_collapsed(const EpochLoss& epoch, std::span<const double> losses) {
  if (epoch.num_classes < 2 || epoch.lost_seed || losses.size() < kFewest) return false;
  const auto classes = static_cast<double>(epoch.num_classes);
  const double guessing = std::log(classes);
  return epoch.score < (1 / classes + 1) / 2 && mean_of(losses) < kBetterThanGuessing * guessing &&
         std::abs(epoch.loss - guessing) < kNearGuessing * guessing;
}

}  // namespace

LossVerdict judge_loss(const EpochLoss& epoch, const SafetyRecord& record) {
  const double loss = epoch.loss;
  LossVerdict verdict;
  const auto& losses = record.losses;
  if (losses.size() < kFewest) return verdict;
  verdict.mean = mean_of(losses);
  double squares = 0;
  for (const double value : losses) squares += (value - verdict.mean) * (value - verdict.mean);
  verdict.deviation = std::sqrt(squares / static_cast<double>(losses.size()));
  const auto since_removal = std::span(losses).subspan(static_cast<std::size_t>(record.losses_before_removal));
  if (has_collapsed(epoch, since_removal)) {
    verdict.kind = Kind::kBad;
    verdict.reason = fmt::format("the validation loss is that of guessing, {:.4g}, after {:.4g} on average", loss,
                                 mean_of(since_removal));
    return verdict;
  }
  const bool is_suspect =
      loss > kLossBound && loss > kLossRatio * verdict.mean && loss > verdict.mean + kSigmas * verdict.deviation;
  if (!is_suspect) return verdict;
  const std::int32_t in_a_row = record.suspect_epochs + 1;
  verdict.kind = in_a_row < kSuspectsInARow ? Kind::kSuspect : Kind::kBad;
  verdict.reason = fmt::format("the validation loss is {:.4g} after {:.4g} +- {:.2g} on average, {} in a row", loss,
                               verdict.mean, verdict.deviation, in_a_row);
  return verdict;
}

void record_verdict(SafetyRecord& record, const LossVerdict& verdict, double loss, std::int64_t step) {
  if (verdict.kind == Kind::kSuspect) {
    ++record.suspect_epochs;
    return;
  }
  record.suspect_epochs = 0;
  record.good_step = step;
  record.losses.push_back(loss);
  if (record.losses.size() <= kWindow) return;
  record.losses.erase(record.losses.begin());
  record.losses_before_removal = std::max(0, record.losses_before_removal - 1);
}

}  // namespace esper::tolaria
