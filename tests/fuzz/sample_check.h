#pragma once
// What every reader of samples promises, and the options that an input chooses.

#include <cmath>

#include "base/error.h"
#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "fuzz/fuzzing.h"

namespace esper::fuzz {

constexpr std::int64_t kMostBytes = 32 << 20;

inline data::ReadOptions options_of(std::uint8_t byte) {
  constexpr config::Task kTasks[] = {config::Task::kClassification, config::Task::kMultilabel,
                                     config::Task::kRegression};
  data::ReadOptions options;
  options.max_bytes = kMostBytes;
  options.task = kTasks[byte / 2 % 3];
  options.bad_sample = byte % 2 == 0 ? config::BadSample::kFail : config::BadSample::kSkip;
  return options;
}

inline void check_inputs(const data::RawSamples& samples, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count * data::elements_of(samples.sizes));
  if (const auto* pixels = std::get_if<data::Bytes>(&samples.values)) {
    expect(pixels->size() == size, "as many pixels as sizes say");
    return;
  }
  const auto& numbers = std::get<std::vector<float>>(samples.values);
  expect(numbers.size() == size, "as many numbers as sizes say");
  for (const float number : numbers) expect(std::isfinite(number), "numbers are finite");
}

inline void check_samples(const data::RawSamples& samples, bool has_class_names) {
  expect(samples.labels.empty() || samples.numbers.empty(), "labels or numbers, not both");
  const auto count = data::samples_in(samples);
  expect(static_cast<std::size_t>(count * data::elements_of(samples.target_sizes)) ==
             samples.labels.size() + samples.numbers.size(),
         "a target for each sample");
  const auto classes = has_class_names ? static_cast<std::int64_t>(samples.class_names.size()) : data::kMaxClasses;
  for (const auto label : samples.labels) expect(label >= 0 && label < classes, "labels are classes");
  for (const float number : samples.numbers) expect(std::isfinite(number), "targets are finite");
  check_inputs(samples, count);
}

// Refusals that a reader may have: the file is damaged, or it would take too much memory.
template <class Read>
void expect_data_error(Read read) {
  try {
    read();
  } catch (const base::Error& error) {
    expect(error.code() == base::ExitCode::kData || error.code() == base::ExitCode::kResources, "an error about data");
  }
}

}  // namespace esper::fuzz
