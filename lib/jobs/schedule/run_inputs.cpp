#include "jobs/schedule/run_inputs.h"

#include <algorithm>
#include <array>
#include <vector>

#include "config/facts/data_facts.h"

namespace esper::jobs {
namespace {

using config::DataConfig;
using config::DataKind;
using leyline::SampleShape;

constexpr std::int64_t kClassesAtMost = 1000;  // where the run file does not show how many there are

std::string at(const std::string& folder, const std::string& path) {
  return path.empty() || path.starts_with('/') ? path : folder + "/" + path;
}

std::optional<SampleShape> text_sample(const DataConfig& data, const std::string& path, FileFacts& files) {
  const auto characters = files.characters_of(path);
  return characters > 0 ? std::optional(leyline::tokens_shape(data.context, characters)) : std::nullopt;
}

// Of the first line of a file of comma-separated numbers whose last column is the label.
std::optional<SampleShape> csv_sample(const std::string& path, std::int64_t classes, FileFacts& files) {
  const auto columns = files.commas_of(path);
  return columns > 0 ? std::optional(leyline::features_shape(columns, classes)) : std::nullopt;
}

std::optional<SampleShape> given_shape(const std::vector<std::int64_t>& shape, std::int64_t classes) {
  if (shape.size() == 3) return leyline::image_shape(shape[0], shape[1], shape[2], classes);
  if (shape.size() == 1) return leyline::features_shape(shape[0], classes);
  return std::nullopt;
}

std::optional<SampleShape> sample_of(const DataConfig& data, const std::string& path, FileFacts& files) {
  constexpr std::int64_t kColours = 3;
  const std::int64_t classes = config::known_classes(data).value_or(kClassesAtMost);
  if (const auto given = given_shape(data.shape, classes)) return given;
  const auto pixels = config::pixels_of(data);
  switch (data.kind) {
    case DataKind::kDigits:
      return data.path.empty() ? std::optional(leyline::features_shape(64, classes)) : csv_sample(path, classes, files);
    case DataKind::kSynthetic:
      return leyline::features_shape(data.synthetic.features, classes);
    case DataKind::kMnist:  // as in the files that gave the format its name
      return leyline::image_shape(1, 28, 28, classes);
    case DataKind::kCifar10:
    case DataKind::kImages:
      return pixels ? std::optional(leyline::image_shape(kColours, pixels->height, pixels->width, classes))
                    : std::nullopt;
    case DataKind::kCsv:
      return csv_sample(path, classes, files);
    case DataKind::kText:
      return text_sample(data, path, files);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<config::RunInputs> run_inputs(const config::RunConfig& config, const std::string& folder,
                                            FileFacts& files) {
  const DataConfig& data = config.data;
  const std::size_t unread = files.num_unread();
  config::RunInputs inputs;
  const std::string path = at(folder, data.path);
  inputs.sample = sample_of(data, path, files);
  inputs.data_bytes = files.bytes_of(path) + files.bytes_of(at(folder, data.validation_path));
  if (config.host.kind == config::HostKind::kExported)
    inputs.host_bytes = files.bytes_of(at(folder, config.host.path) + "/weights.safetensors");
  return files.num_unread() == unread ? std::optional(inputs) : std::nullopt;
}

config::RunInputs run_inputs(const config::RunConfig& config, const std::string& folder) {
  FileFacts files;
  return *run_inputs(config, folder, files);
}

bool run_inputs_read(std::string_view field) {
  constexpr std::array<std::string_view, 10> kRead{"host.kind",
                                                   "host.path",
                                                   "data.kind",
                                                   "data.path",
                                                   "data.shape",
                                                   "data.validation_path",
                                                   "data.image_size",
                                                   "data.context",
                                                   "data.synthetic.features",
                                                   "data.synthetic.classes"};
  return std::ranges::count(kRead, field) > 0;
}

}  // namespace esper::jobs
