#pragma once
// What a network's inputs are made of, and what its outputs mean. A checkpoint holds it, so that who uses what was
// trained needs neither the run's data nor their readers. Any thread.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "config/data_config.h"
#include "config/task.h"
#include "data/dataset.h"

namespace esper::data {

// Of one sample's elements, before standardisation.
enum class Element { kNumber, kPixel, kToken };
constexpr auto names(Element) {
  using E = Element;
  return std::array{std::pair{E::kNumber, "number"}, std::pair{E::kPixel, "pixel"}, std::pair{E::kToken, "token"}};
}

struct Preprocessing {
  config::Task task = config::Task::kClassification;
  config::DataKind kind = config::DataKind::kDigits;  // of the data that the run read
  leyline::SampleShape shape;
  Element element = Element::kNumber;  // kPixel: uint8, divided by 255
  int image_size = 0;                  // width and height to which images are resized; 0: they have the size of `shape`
  Standardization standardization;     // an earlier version wrote none of targets
  // Of each output: class, label or target; of sequences each token's text. Empty where the data had no names.
  std::vector<std::string> class_names;
  std::vector<std::string> feature_names;  // of each number of a sample; empty likewise
  std::string target_name;  // of the target's column; empty likewise, and where an earlier version wrote it
  TableEncoding table;      // of data with named columns: how they become features; else empty
};

Preprocessing preprocessing_of(const config::DataConfig& config, config::Task task, const Splits& splits);

// Floats are exact in it, and names and a table's words to the byte.
nlohmann::json to_json(const Preprocessing& preprocessing);

// That, in one line.
std::string text_of(const Preprocessing& preprocessing);

inline constexpr std::size_t kMostPreprocessing = std::size_t{256} << 20;  // bytes of it as text

// Fails with the reason where the text is none of this version, or its members do not fit each other.
base::Expected<Preprocessing> read_preprocessing(std::string_view text);

// Name of output i, or its number where outputs have no names.
std::string name_of_output(const Preprocessing& preprocessing, std::int64_t i);

}  // namespace esper::data
