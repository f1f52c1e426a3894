#include "tolaria/state/validation_window.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "base/error.h"
#include "step/model.h"

namespace esper::tolaria {
namespace {

using base::StandardError;
using kasmina::NamedTensor;
using leyline::ValidationChange;

constexpr int kLongestWindow = 16;

std::string window_tensor_id(const char* what) { return fmt::format("{}epochs.{}", step::kRunTensors, what); }

std::int64_t length_of(int window_epochs) { return std::min(window_epochs, kLongestWindow); }

torch::Tensor with_epoch_row(const torch::Tensor& table, const torch::Tensor& row, std::int64_t most) {
  const bool continues = table.defined() && table.size(1) == row.numel();
  if (!continues) return row.unsqueeze(0).clone();
  const std::int64_t kept = std::min(table.size(0), most - 1);
  return at::cat({table.narrow(0, table.size(0) - kept, kept), row.unsqueeze(0)});
}

// The rows that a change compares.
struct Windows {
  std::int64_t begin = 0, middle = 0, end = 0;
};

std::vector<double> values_of(const torch::Tensor& numbers) {
  const auto on_cpu = numbers.contiguous();
  const double* first = on_cpu.const_data_ptr<double>();
  return {first, first + on_cpu.numel()};
}

// Each sample's mean over rows [from, to). Plain loops: for few samples, torch's operators would take longer than all
// the rest of an observation.
std::vector<double> means_of(const torch::Tensor& table, std::int64_t from, std::int64_t to) {
  ESPER_CHECK(table.is_contiguous(), "rows lie one after another");
  std::vector<double> means(static_cast<std::size_t>(table.size(1)));
  const float* row = table.const_data_ptr<float>() + from * table.size(1);
  for (std::int64_t i = from; i < to; ++i, row += table.size(1)) {
    for (std::size_t sample = 0; sample < means.size(); ++sample) means[sample] += row[sample];
  }
  for (double& mean : means) mean /= static_cast<double>(to - from);
  return means;
}

// Each sample's mean after minus its mean before.
std::vector<double> sample_differences(const torch::Tensor& table, const Windows& windows) {
  auto differences = means_of(table, windows.middle, windows.end);
  const auto before = means_of(table, windows.begin, windows.middle);
  std::ranges::transform(differences, before, differences.begin(), std::minus{});
  return differences;
}

// Sum of squares around their mean.
double squares(std::span<const double> values) {
  double mean = 0, sum = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// Of the difference between the windows' means, from the spread of the epochs within each.
std::optional<StandardError> swing_of(std::span<const double> epochs, const Windows& windows) {
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return epochs.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
  };
  const auto before = part(windows.begin, windows.middle), after = part(windows.middle, windows.end);
  const auto of_before = static_cast<double>(before.size()), of_after = static_cast<double>(after.size());
  const double degrees = of_before + of_after - 2;
  if (degrees < 1) return std::nullopt;
  const double variance = (squares(before) + squares(after)) / degrees;
  return StandardError{std::sqrt(variance * (1 / of_before + 1 / of_after)), degrees};
}

struct MeanChange {
  double value = 0;
  std::optional<StandardError> error;
};

MeanChange mean_change(const std::vector<double>& samples) {
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {sum / static_cast<double>(samples.size()), base::error_of_mean(samples)};
}

}  // namespace

ValidationWindow with_epoch(const ValidationWindow& window, const SampleFigures& epoch, int window_epochs) {
  if (!epoch.loss.defined()) return {};
  const std::int64_t most = 2 * length_of(window_epochs);
  return {with_epoch_row(window.loss, epoch.loss, most), with_epoch_row(window.correct, epoch.correct, most)};
}

std::vector<ValidationChange> changes_of(const ValidationWindow& window, int window_epochs) {
  std::vector<ValidationChange> changes;
  if (window.epochs() < 2 || window.loss.size(1) == 0) return changes;
  constexpr double kPoints = 100;
  const std::int64_t rows = window.epochs(), length = length_of(window_epochs);
  const auto epochs = values_of(window.loss.to(torch::kFloat64).mean(1));
  for (std::int64_t after = 1; after <= std::min(length, rows - 1); ++after) {
    const Windows windows{std::max<std::int64_t>(rows - after - length, 0), rows - after, rows};
    const MeanChange loss = mean_change(sample_differences(window.loss, windows));
    auto correct = sample_differences(window.correct, windows);
    for (double& one : correct) one *= kPoints;
    const MeanChange points = mean_change(correct);
    changes.push_back({.after = static_cast<std::uint32_t>(after),
                       .before = static_cast<std::uint32_t>(windows.middle - windows.begin),
                       .loss = loss.value,
                       .points = points.value,
                       .loss_error = loss.error,
                       .points_error = points.error,
                       .loss_swing = swing_of(epochs, windows)});
  }
  return changes;
}

std::vector<NamedTensor> window_tensors(const ValidationWindow& window) {
  if (window.epochs() == 0) return {};
  return {{window_tensor_id("loss"), window.loss}, {window_tensor_id("correct"), window.correct}};
}

base::Expected<void> restore_tensors(ValidationWindow& window, const std::vector<NamedTensor>& saved) {
  const auto find = [&](const char* what) {
    const auto found = std::ranges::find(saved, window_tensor_id(what), &NamedTensor::id);
    return found == saved.end() ? torch::Tensor() : found->tensor;
  };
  const ValidationWindow read{find("loss"), find("correct")};
  if (!read.loss.defined() && !read.correct.defined()) return {};
  const auto is_table = [](const torch::Tensor& table) {
    return table.defined() && table.dim() == 2 && table.scalar_type() == torch::kFloat32 && table.is_contiguous();
  };
  if (!is_table(read.loss) || !is_table(read.correct) || read.loss.sizes() != read.correct.sizes()) {
    return base::failure("the validation figures of its last epochs are incomplete or of another form");
  }
  window = read;
  return {};
}

}  // namespace esper::tolaria
