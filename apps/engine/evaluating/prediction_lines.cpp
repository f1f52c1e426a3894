#include "engine/evaluating/prediction_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "base/text/joined.h"
#include "base/text/printable.h"
#include "base/text/rounding.h"

namespace esper::engine {
namespace {

using base::shortest_number;
using base::shortest_text;
using config::Task;
using nlohmann::ordered_json;

constexpr float kApplies = 0.5f;  // of a label's probability

std::string csv_field(const std::string& text) {
  const bool edges = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!edges && text.find_first_of(",\"\n\r\t") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::int64_t> likeliest(std::span<const float> answers, std::int64_t count) {
  std::vector<std::int64_t> order(answers.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto more = [&](auto a, auto b) {
    return answers[static_cast<std::size_t>(a)] > answers[static_cast<std::size_t>(b)];
  };
  std::ranges::stable_sort(order, more);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

std::string name_of(const data::Preprocessing& it, std::int64_t i) {
  if (it.task != Task::kRegression || !it.class_names.empty()) return data::name_of_output(it, i);
  return it.shape.num_classes == 1 ? "value" : fmt::format("value_{}", i);
}

std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

PredictionLines::PredictionLines(const data::Preprocessing& preprocessing, PredictionFormat format, std::int64_t top)
    : preprocessing_(preprocessing), format_(format), top_(std::min(top, preprocessing.shape.num_classes)) {}

std::string PredictionLines::name(std::int64_t i) const {
  const auto name = name_of(preprocessing_, i);
  return format_ == PredictionFormat::kCsv ? name : base::utf8_text(name);
}

std::vector<std::string> PredictionLines::labels(std::span<const float> answers) const {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] >= kApplies) labels.push_back(name(static_cast<std::int64_t>(i)));
  }
  return labels;
}

std::string PredictionLines::header(AnswerOf what) const {
  if (format_ == PredictionFormat::kJsonl) return {};
  if (what == AnswerOf::kPixel) return "input,sample,row,column,class,probability\n";
  if (preprocessing_.task == Task::kLanguage) return "prompt,text\n";
  std::string text = "input,sample";
  if (preprocessing_.task == Task::kClassification) {
    for (std::int64_t i = 1; i <= top_; ++i) {
      const auto ending = i == 1 ? "" : fmt::format("_{}", i);
      text += fmt::format(",class{0},probability{0}", ending);
    }
    return text + "\n";
  }
  if (preprocessing_.task == Task::kMultilabel) text += ",labels";
  for (std::int64_t i = 0; i < preprocessing_.shape.num_classes; ++i) {
    text.append(",").append(csv_field(name(i)));
  }
  return text + "\n";
}

std::string PredictionLines::line(const SampleName& sample, std::span<const float> answers) const {
  return format_ == PredictionFormat::kCsv ? csv_line(sample, answers) : json_line(sample, answers);
}

std::string PredictionLines::csv_line(const SampleName& sample, std::span<const float> answers) const {
  std::string text = fmt::format("{},{}", csv_field(sample.file), sample.position);
  if (preprocessing_.task == Task::kClassification) {
    for (const auto i : likeliest(answers, top_)) {
      text.append(",").append(csv_field(name(i)));
      text.append(",").append(shortest_text(answers[static_cast<std::size_t>(i)]));
    }
    return text + "\n";
  }
  if (preprocessing_.task == Task::kMultilabel) text.append(",").append(csv_field(base::joined(labels(answers), ";")));
  for (const float value : answers) text.append(",").append(shortest_text(value));
  return text + "\n";
}

std::string PredictionLines::json_line(const SampleName& sample, std::span<const float> answers) const {
  ordered_json line = {{"input", sample.file}, {"sample", sample.position}};
  if (preprocessing_.task == Task::kClassification) {
    line["classes"] = ordered_json::array();
    for (const auto i : likeliest(answers, top_)) {
      line["classes"].push_back(
          {{"class", name(i)}, {"probability", shortest_number(answers[static_cast<std::size_t>(i)])}});
    }
    return dumped(line);
  }
  const bool has_labels = preprocessing_.task == Task::kMultilabel;
  if (has_labels) line["labels"] = labels(answers);
  ordered_json& values = line[has_labels ? "probabilities" : "values"];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    values[name(static_cast<std::int64_t>(i))] = shortest_number(answers[i]);
  }
  return dumped(line);
}

std::string PredictionLines::pixel_lines(const SampleName& sample, const PixelAnswers& answers) const {
  const auto class_at = [&](std::size_t pixel) { return name(answers.classes[pixel]); };
  const std::size_t count = answers.classes.size();
  if (format_ == PredictionFormat::kCsv) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += fmt::format("{},{},{},{},{},{}\n", csv_field(sample.file), sample.position, i / answers.width,
                          i % answers.width, csv_field(class_at(i)), shortest_text(answers.probabilities[i]));
    }
    return text;
  }
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) {
    if (i % answers.width == 0) rows.push_back(ordered_json::array());
    rows.back().push_back(class_at(i));
  }
  return dumped({{"input", sample.file}, {"sample", sample.position}, {"pixels", std::move(rows)}});
}

std::string PredictionLines::text_line(const std::string& prompt, const std::string& text) const {
  if (format_ == PredictionFormat::kCsv) return csv_field(prompt) + "," + csv_field(text) + "\n";
  return dumped({{"prompt", prompt}, {"text", text}});
}

}  // namespace esper::engine
