#pragma once
// Predictions as lines of text.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/preprocessing.h"
#include "esper/engine_api.h"

namespace esper::engine {

// Of which file, and which sample in it, from 0.
struct SampleName {
  std::string file;
  std::int64_t position = 0;
};

// The likeliest class of each pixel and its probability, row by row.
struct PixelAnswers {
  std::span<const std::int64_t> classes;
  std::span<const float> probabilities;
  std::size_t width = 0;  // pixels in a row
};

// What a network answers for.
enum class AnswerOf { kSample, kPixel };

class PredictionLines {
 public:
  // top: how many classes a line names, the likeliest first; at most all of them. Of a pixel always one.
  PredictionLines(const data::Preprocessing& preprocessing, PredictionFormat format, std::int64_t top);

  const data::Preprocessing& preprocessing() const { return preprocessing_; }
  std::int64_t top() const { return top_; }

  // What comes before the first one; empty for JSON lines.
  std::string header(AnswerOf what = AnswerOf::kSample) const;
  // answers: of each output a probability, or for regression a value. Ends with a newline.
  std::string line(const SampleName& sample, std::span<const float> answers) const;
  // CSV: a line for each pixel; JSON: one line with rows of classes.
  std::string pixel_lines(const SampleName& sample, const PixelAnswers& answers) const;
  std::string text_line(const std::string& prompt, const std::string& text) const;

 private:
  // Of output i. JSON holds UTF-8 alone (base::utf8_text).
  std::string name(std::int64_t i) const;
  // Those that apply.
  std::vector<std::string> labels(std::span<const float> answers) const;
  std::string csv_line(const SampleName& sample, std::span<const float> answers) const;
  std::string json_line(const SampleName& sample, std::span<const float> answers) const;

  const data::Preprocessing& preprocessing_;
  PredictionFormat format_;
  std::int64_t top_;
};

}  // namespace esper::engine
