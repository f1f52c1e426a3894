#include "tolaria/evaluation/host_counts.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tolaria/evaluation/score.h"

namespace esper::tolaria {

using config::Task;

namespace {

constexpr std::int64_t kFewOutputs = 64;

using Row = std::span<const float>;
using RowSums = std::span<double>;

std::size_t largest_of_row(Row row) { return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()); }

bool is_in_top(Row row, std::size_t target) {
  return std::ranges::count_if(row, [&](float one) { return one > row[target]; }) < kTopRanks;
}

void take_class(Row row, std::size_t target, RowSums sums) {
  if (is_in_top(row, target)) ++sums[0];
  ++sums[1 + target * row.size() + largest_of_row(row)];
}

void take_token(Row row, std::size_t target, RowSums sums) {
  if (is_in_top(row, target)) ++sums[0];
  if (largest_of_row(row) == target) ++sums[1];
}

void take_labels(Row row, Row targets, RowSums sums) {
  const std::size_t labels = row.size();
  bool all = true;
  for (std::size_t i = 0; i < labels; ++i) {
    const bool said = row[i] > 0, is = targets[i] > kLikely;
    all = all && said == is;
    sums[1 + i] += said && is;
    sums[1 + labels + i] += is;
    sums[1 + 2 * labels + i] += said;
  }
  sums[0] += all;
}

void take_errors(Row row, Row targets, RowSums sums) {
  const std::size_t outputs = row.size();
  for (std::size_t i = 0; i < outputs; ++i) {
    const double target = targets[i], error = row[i] - target;
    sums[i] += std::abs(error);
    sums[outputs + i] += error * error;
    sums[2 * outputs + i] += target;
    sums[3 * outputs + i] += target * target;
  }
}

// Calls visit(row, number) for each row of the outputs.
template <class Visit>
void each_row(const torch::Tensor& outputs, const Visit& visit) {
  const torch::Tensor rows = outputs.contiguous();
  const auto size = static_cast<std::size_t>(rows.size(1)), count = static_cast<std::size_t>(rows.size(0));
  const float* first = rows.const_data_ptr<float>();
  for (std::size_t i = 0; i < count; ++i) visit(Row(first + i * size, size), i);
}

}  // namespace

bool counts_on_host(const step::Prediction& prediction) {
  return prediction.logits.is_cpu() && prediction.logits.size(1) < kFewOutputs;
}

void count_on_host(Task task, const step::Prediction& prediction, RowSums sums) {
  const torch::Tensor targets = prediction.targets.contiguous();
  const auto width = static_cast<std::size_t>(prediction.logits.size(1));
  if (task == Task::kMultilabel || task == Task::kRegression) {
    const float* first = targets.const_data_ptr<float>();
    const auto count = task == Task::kMultilabel ? take_labels : take_errors;
    each_row(prediction.logits, [&](Row row, std::size_t i) { count(row, {first + i * width, width}, sums); });
  } else {
    const std::int64_t* first = targets.const_data_ptr<std::int64_t>();
    const auto count = task == Task::kLanguage ? take_token : take_class;
    each_row(prediction.logits, [&](Row row, std::size_t i) {
      ESPER_CHECK(first[i] >= 0 && static_cast<std::size_t>(first[i]) < width, "a target is one of the classes");
      count(row, static_cast<std::size_t>(first[i]), sums);
    });
  }
}

}  // namespace esper::tolaria
