#include "jobs/schedule/run_inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/file_system.h"
#include "config/facts/data_facts.h"
#include "storage/folder_walk.h"

namespace esper::jobs {
namespace {

using config::DataConfig;
using config::DataKind;
using leyline::SampleShape;

// Of a text, from whose characters the vocabulary is counted: rare ones behind it are missed.
constexpr std::size_t kMostTextRead = 2u << 20;
constexpr std::size_t kMostLineRead = 1u << 20;
constexpr std::int64_t kClassesAtMost = 1000;  // where the run file does not show how many there are
constexpr storage::WalkLimits kWalk{.depth = 4, .entries = 20'000};

std::string at(const std::string& folder, const std::string& path) {
  return path.empty() || path.starts_with('/') ? path : folder + "/" + path;
}

std::int64_t file_bytes(const std::string& path) {
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) < 0) return 0;
  if (S_ISREG(status.st_mode)) return status.st_size;
  if (!S_ISDIR(status.st_mode)) return 0;
  try {
    return static_cast<std::int64_t>(storage::bytes_of(storage::walk_folder(path, kWalk)));
  } catch (const base::IoError&) {
    return 0;
  }
}

// Empty where it is no regular file: the user named the path, and a FIFO would keep the loop's thread waiting.
std::string beginning_of(const std::string& path, std::size_t most) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) < 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(std::min(most, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto got = ::read(file.number(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

// Code points of UTF-8, whole ones.
std::int64_t characters_in(const std::string& text) {
  std::vector<bool> seen(0x110000);
  std::int64_t count = 0;
  std::uint32_t point = 0;
  const auto note = [&] {
    if (point < seen.size() && !seen[point]) seen[point] = true, ++count;
  };
  bool any = false;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if ((value & 0xc0) == 0x80) {
      point = point << 6 | (value & 0x3f);
      continue;
    }
    if (std::exchange(any, true)) note();
    point = value < 0x80 ? value : value & (value < 0xe0 ? 0x1f : value < 0xf0 ? 0x0f : 0x07);
  }
  if (any) note();
  return count;
}

std::optional<SampleShape> text_sample(const DataConfig& data, const std::string& path) {
  const auto characters = characters_in(beginning_of(path, kMostTextRead));
  return characters > 0 ? std::optional(leyline::tokens_shape(data.context, characters)) : std::nullopt;
}

// Of the first line of a file of comma-separated numbers whose last column is the label.
std::optional<SampleShape> csv_sample(const std::string& path, std::int64_t classes) {
  const auto text = beginning_of(path, kMostLineRead);
  const auto line = text.substr(0, text.find('\n'));
  const auto columns = std::ranges::count(line, ',');
  return columns > 0 ? std::optional(leyline::features_shape(columns, classes)) : std::nullopt;
}

std::optional<SampleShape> given_shape(const std::vector<std::int64_t>& shape, std::int64_t classes) {
  if (shape.size() == 3) return leyline::image_shape(shape[0], shape[1], shape[2], classes);
  if (shape.size() == 1) return leyline::features_shape(shape[0], classes);
  return std::nullopt;
}

std::optional<SampleShape> sample_of(const DataConfig& data, const std::string& path) {
  constexpr std::int64_t kColours = 3;
  const std::int64_t classes = config::known_classes(data).value_or(kClassesAtMost);
  if (const auto given = given_shape(data.shape, classes)) return given;
  const auto pixels = config::pixels_of(data);
  switch (data.kind) {
    case DataKind::kDigits:
      return data.path.empty() ? std::optional(leyline::features_shape(64, classes)) : csv_sample(path, classes);
    case DataKind::kSynthetic:
      return leyline::features_shape(data.synthetic.features, classes);
    case DataKind::kMnist:  // as in the files that gave the format its name
      return leyline::image_shape(1, 28, 28, classes);
    case DataKind::kCifar10:
    case DataKind::kImages:
      return pixels ? std::optional(leyline::image_shape(kColours, pixels->height, pixels->width, classes))
                    : std::nullopt;
    case DataKind::kCsv:
      return csv_sample(path, classes);
    case DataKind::kText:
      return text_sample(data, path);
    default:
      return std::nullopt;
  }
}

}  // namespace

config::RunInputs run_inputs(const config::RunConfig& config, const std::string& folder) {
  const DataConfig& data = config.data;
  config::RunInputs inputs;
  const std::string path = at(folder, data.path);
  inputs.sample = sample_of(data, path);
  inputs.data_bytes = file_bytes(path) + file_bytes(at(folder, data.validation_path));
  if (config.host.kind == config::HostKind::kExported)
    inputs.host_bytes = file_bytes(at(folder, config.host.path) + "/weights.safetensors");
  return inputs;
}

bool run_inputs_read(std::string_view field) {
  if (field.starts_with("host.")) return field == "host.kind" || field == "host.path";
  return field.starts_with("data.") && field != "data.batch_size";
}

}  // namespace esper::jobs
