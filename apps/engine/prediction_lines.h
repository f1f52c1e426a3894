#pragma once
// Predictions as lines of text.

#include <cstdint>
#include <span>
#include <string>

#include "data/preprocessing.h"
#include "esper/engine_api.h"

namespace esper::engine {

// Of which file, and which sample in it, from 0.
struct SampleName {
  std::string file;
  std::int64_t position = 0;
};

class PredictionLines {
 public:
  // top: how many classes a line names, the likeliest first; at most all of them.
  PredictionLines(const data::Preprocessing& preprocessing, PredictionFormat format, std::int64_t top);

  const data::Preprocessing& preprocessing() const { return preprocessing_; }

  // What comes before the first one; empty for JSON lines.
  std::string header() const;
  // answers: of each output a probability, or for regression a value. Ends with a newline.
  std::string line(const SampleName& sample, std::span<const float> answers) const;
  std::string text_line(const std::string& prompt, const std::string& text) const;

 private:
  std::string csv_line(const SampleName& sample, std::span<const float> answers) const;
  std::string json_line(const SampleName& sample, std::span<const float> answers) const;

  const data::Preprocessing& preprocessing_;
  PredictionFormat format_;
  std::int64_t top_;
};

}  // namespace esper::engine
