#include "data/preprocessing.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "data/files/raw_samples.h"

namespace esper::data {
namespace {

using base::failure;
using leyline::SampleKind;
using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::int64_t kMostInSize = std::int64_t{1} << 24;    // of one size of a sample
constexpr std::int64_t kMostInSample = std::int64_t{1} << 31;  // elements
constexpr std::int64_t kMostImageSize = 4096;                  // as data.image_size
constexpr char kBytes[] = "bytes";

constexpr auto kinds() {
  return std::array{std::pair{SampleKind::kFeatures, "features"}, std::pair{SampleKind::kImage, "image"},
                    std::pair{SampleKind::kTokens, "tokens"}};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const int length = base::utf8_length(text);
    if (length < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

// A folder's name may be any bytes; what JSON cannot hold is written in hexadecimal.
json name_json(const std::string& name) {
  if (is_utf8(name)) return name;
  std::string digits;
  for (const char c : name) digits += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return {{kBytes, digits}};
}

std::string bytes_of(const std::string& digits) {
  std::string name;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    const char* begin = digits.data() + i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return {};
    name += static_cast<char>(byte);
  }
  return name;
}

json names_json(const std::vector<std::string>& names) {
  auto list = json::array();
  for (const auto& name : names) list.push_back(name_json(name));
  return list;
}

// Of a document: each text as name_json() writes it.
json with_names(const json& document) {
  if (document.is_string()) return name_json(document.get_ref<const std::string&>());
  json out = document;
  if (out.is_structured()) {
    for (auto& item : out) item = with_names(item);
  }
  return out;
}

// The reverse.
json with_texts(const json& document) {
  const bool is_name = document.is_object() && document.size() == 1;
  if (const auto bytes = bytes_of(is_name ? base::text_at(document, kBytes) : ""); !bytes.empty()) return bytes;
  json out = document;
  if (out.is_structured()) {
    for (auto& item : out) item = with_texts(item);
  }
  return out;
}

// Reads the members; the first that is wrong is in `problem`, and what follows it is not to be used.
class Reader {
 public:
  explicit Reader(const json& document) : document_(document) {}

  const std::string& problem() const { return problem_; }

  template <class E>
  void read(const char* name, E& value) {
    const auto known = base::from_name<E>(base::text_at(document_, name));
    known ? void(value = *known) : refuse(name, "is not one of " + base::all_names<E>());
  }

  void read(const char* name, int& value, std::int64_t most) {
    const auto& found = base::member(document_, name);
    const bool fits = found.is_number_integer() && found >= 0 && found <= most;
    fits ? void(value = found.get<int>()) : refuse(name, fmt::format("is not a whole number from 0 to {}", most));
  }

  void read(const char* name, std::vector<float>& values) {
    for (const auto& item : list(name)) {
      const double value = item.is_number() ? item.get<double>() : std::nan("");
      if (!std::isfinite(static_cast<float>(value))) return refuse(name, "holds something that is not a finite number");
      values.push_back(static_cast<float>(value));
    }
  }

  void read_optional(const char* name, std::vector<float>& values) {
    if (!base::member(document_, name).is_null()) read(name, values);
  }

  void read(const char* name, std::vector<std::string>& names) {
    for (const auto& item : list(name)) {
      auto text = name_in(item);
      if (!text) return refuse(name, "holds something that is not a name");
      names.push_back(*std::move(text));
    }
  }

  void read_optional(const char* name, std::string& text) {
    const auto& found = base::member(document_, name);
    if (found.is_null()) return;
    auto read = name_in(found);
    read ? void(text = *std::move(read)) : refuse(name, "is not a name");
  }

  void read(leyline::SampleShape& shape) {
    const auto& found = base::member(document_, "shape");
    const auto sizes = sizes_of(base::member(found, "sizes"));
    const auto outputs = base::number_at<std::int64_t>(found, "outputs").value_or(0);
    const auto product = checked_product(sizes);
    if (!product || *product < 1 || *product > kMostInSample) return refuse("shape", "has sizes that are out of range");
    if (outputs < 1 || outputs > kMaxClasses) return refuse("shape", "has a number of outputs that is out of range");
    const auto kind = base::text_at(found, "kind");
    if (kind == "features" && sizes.size() == 1) {
      shape = leyline::features_shape(sizes[0], outputs);
    } else if (kind == "image" && sizes.size() == 3) {
      shape = leyline::image_shape(sizes[0], sizes[1], sizes[2], outputs);
    } else if (kind == "tokens" && sizes.size() == 1) {
      shape = leyline::tokens_shape(sizes[0], outputs);
    } else {
      refuse("shape", "fits no kind of sample (features, image, tokens)");
    }
  }

  void refuse(const std::string& name, const std::string& reason) {
    if (problem_.empty()) problem_ = name + " " + reason;
  }

 private:
  const json& list(const char* name) {
    static const json kNone = json::array();
    const auto& found = base::member(document_, name);
    if (found.is_array() && found.size() <= static_cast<std::size_t>(kMostInSize)) return found;
    refuse(name, "is not a list");
    return kNone;
  }

  static std::optional<std::string> name_in(const json& item) {
    if (item.is_string()) return item.get<std::string>();
    auto bytes = bytes_of(base::text_at(item, kBytes));
    return bytes.empty() ? std::nullopt : std::optional(std::move(bytes));
  }

  static std::vector<std::int64_t> sizes_of(const json& list) {
    std::vector<std::int64_t> sizes;
    if (!list.is_array() || list.size() > 3) return {0};
    for (const auto& item : list) {
      const bool fits = item.is_number_integer() && item >= 1 && item <= kMostInSize;
      sizes.push_back(fits ? item.get<std::int64_t>() : 0);
    }
    return sizes;
  }

  const json& document_;
  std::string problem_;
};

bool are_above_zero(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return value > 0; });
}

std::string contradiction_of_targets(const Preprocessing& it) {
  const auto& mean = it.standardization.target_mean;
  const auto& deviation = it.standardization.target_deviation;
  if (mean.size() != deviation.size()) return "target_mean and target_deviation differ in length";
  if (!mean.empty() && it.task != config::Task::kRegression) return "target_mean and task do not fit each other";
  if (!mean.empty() && std::ssize(mean) != it.shape.num_classes) return "the numbers of target_mean and outputs differ";
  if (!are_above_zero(deviation)) return "target_deviation is not above 0";
  return {};
}

// That the parts belong to each other; empty where they do.
std::string contradiction(const Preprocessing& it) {
  const auto outputs = static_cast<std::size_t>(it.shape.num_classes);
  const auto groups = static_cast<std::size_t>(it.shape.sizes()[0]);
  const auto &mean = it.standardization.mean, &deviation = it.standardization.deviation;
  const bool tokens = it.shape.kind == SampleKind::kTokens;
  if (tokens != (it.element == Element::kToken)) return "shape and element are of different kinds of data";
  if (tokens != (it.task == config::Task::kLanguage)) return "shape and task are of different kinds of data";
  if (!it.class_names.empty() && it.class_names.size() != outputs)
    return "the numbers of class_names and outputs differ";
  if (mean.size() != deviation.size()) return "mean and deviation differ in length";
  if (!mean.empty() && (tokens || mean.size() != groups)) return "mean is not as long as shape";
  if (!are_above_zero(deviation)) return "deviation is not above 0";
  // data.shape makes images of the numbers of a row, too.
  const auto numbers = elements_of(it.shape.sizes());
  const bool named = !it.feature_names.empty();
  if (named && (tokens || std::ssize(it.feature_names) != numbers))
    return "the numbers of feature_names and features differ";
  const bool tabular = !it.table.inputs.empty();
  if (tabular && (tokens || encoded_width(it.table) != numbers))
    return "table and shape are of different kinds of data";
  return contradiction_of_targets(it);
}

}  // namespace

Preprocessing preprocessing_of(const config::DataConfig& config, config::Task task, const Splits& splits) {
  const Dataset& train = splits.train;
  Preprocessing result;
  result.task = train.shape.kind == SampleKind::kTokens ? config::Task::kLanguage : task;
  result.kind = config.kind;
  result.shape = train.shape;
  result.element = train.shape.kind == SampleKind::kTokens       ? Element::kToken
                   : train.inputs.scalar_type() == torch::kUInt8 ? Element::kPixel
                                                                 : Element::kNumber;
  result.image_size = config.image_size;
  result.standardization = splits.standardization;
  result.class_names = train.class_names;
  result.feature_names = train.feature_names;
  result.target_name = train.target_name;
  result.table = train.table;
  return result;
}

json to_json(const Preprocessing& it) {
  std::string_view kind;
  for (const auto& [known, name] : kinds()) {
    if (known == it.shape.kind) kind = name;
  }
  return {{"version", kVersion},
          {"task", base::name_of(it.task)},
          {"kind", base::name_of(it.kind)},
          {"shape", {{"kind", kind}, {"sizes", it.shape.sizes()}, {"outputs", it.shape.num_classes}}},
          {"element", base::name_of(it.element)},
          {"image_size", it.image_size},
          {"mean", it.standardization.mean},
          {"deviation", it.standardization.deviation},
          {"target_mean", it.standardization.target_mean},
          {"target_deviation", it.standardization.target_deviation},
          {"class_names", names_json(it.class_names)},
          {"feature_names", names_json(it.feature_names)},
          {"target_name", name_json(it.target_name)},
          {"table", with_names(base::to_json(it.table))}};
}

std::string text_of(const Preprocessing& it) { return base::json_line(to_json(it)); }

base::Expected<Preprocessing> read_preprocessing(std::string_view text) {
  const auto document = base::parse_json(text, kMostPreprocessing);
  if (!document) return failure(document.error());
  if (base::number_at<std::int64_t>(*document, "version") != kVersion) return failure("it is of another version");
  Preprocessing result;
  Reader reader(*document);
  reader.read("task", result.task);
  reader.read("kind", result.kind);
  reader.read(result.shape);
  reader.read("element", result.element);
  reader.read("image_size", result.image_size, kMostImageSize);
  reader.read("mean", result.standardization.mean);
  reader.read("deviation", result.standardization.deviation);
  reader.read_optional("target_mean", result.standardization.target_mean);
  reader.read_optional("target_deviation", result.standardization.target_deviation);
  reader.read("class_names", result.class_names);
  reader.read("feature_names", result.feature_names);
  reader.read_optional("target_name", result.target_name);
  if (!reader.problem().empty()) return failure(reader.problem());
  auto table = base::from_json<TableEncoding>(with_texts(base::member(*document, "table")));
  if (!table) return failure("table " + table.error());
  result.table = std::move(*table);
  if (const auto why = contradiction(result); !why.empty()) return failure(why);
  return result;
}

std::string name_of_output(const Preprocessing& preprocessing, std::int64_t i) {
  const auto& names = preprocessing.class_names;
  return names.empty() ? std::to_string(i) : names[static_cast<std::size_t>(i)];
}

}  // namespace esper::data
