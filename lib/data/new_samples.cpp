#include "data/new_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/text/ascii.h"
#include "base/text/joined.h"
#include "data/adopt.h"
#include "data/files/image_decode.h"
#include "data/files/image_resize.h"
#include "data/files/input_error.h"
#include "data/readers/npy_reader.h"
#include "data/readers/number_rows.h"
#include "data/readers/table_reader.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using leyline::SampleKind;

constexpr std::size_t kImagesAtOnce = 256;
constexpr std::size_t kProblemsNamed = 20;

enum class FileKind { kImage, kArray, kTable, kUnknown };

FileKind kind_of(const fs::path& file) {
  const auto name = base::lower_case(file.filename().string());
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  if (ends(".png") || ends(".jpg") || ends(".jpeg")) return FileKind::kImage;
  if (ends(".npy")) return FileKind::kArray;
  return ends(".csv") || ends(".csv.gz") ? FileKind::kTable : FileKind::kUnknown;
}

std::vector<fs::path> images_below(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> images;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (kind_of(it->path()) == FileKind::kImage && it->is_regular_file(ignored)) images.push_back(it->path());
  }
  if (error) fail_input(folder, "", "cannot be listed: " + error.message());
  if (images.empty()) fail_input(folder, "", "holds no images (.png, .jpg, .jpeg)");
  std::ranges::sort(images);
  return images;
}

std::string shape_text(const std::vector<std::int64_t>& sizes) { return fmt::format("[{}]", base::joined(sizes)); }

// That the network can take what such a file holds.
void require_fitting(const fs::path& file, const Preprocessing& like) {
  const bool images = like.shape.kind == SampleKind::kImage, pixels = like.element == Element::kPixel;
  switch (kind_of(file)) {
    case FileKind::kImage:
      if (images && pixels && like.shape.channels != 2 && like.shape.channels <= 3) return;
      fail_input(
          file, "",
          "is an image; the run was trained on " + std::string(images ? "arrays of numbers" : "rows of numbers"));
    case FileKind::kTable:
      if (!pixels) return;
      fail_input(file, "", "is a table of numbers; the run was trained on pixels: give images, or .npy of uint8");
    case FileKind::kArray:
      return;
    case FileKind::kUnknown:
      fail_input(file, "", "is not an image (.png, .jpg, .jpeg), array (.npy) or table (.csv), by its name");
  }
}

Bytes planes_of(const fs::path& file, const Preprocessing& like, const ReadOptions& options) {
  auto image = decode_image(file, options);
  if (like.image_size > 0) image = resize_square(std::move(image), like.image_size);
  if (image.height != like.shape.height || image.width != like.shape.width) {
    fail_input(file, "",
               fmt::format("is {} x {} pixels, the run was trained on {} x {}", image.width, image.height,
                           like.shape.width, like.shape.height));
  }
  return to_planes(image, like.shape.channels);
}

// Targets that nobody reads.
NewSamples of(std::variant<Bytes, std::vector<float>> values, std::int64_t count, const Preprocessing& like) {
  auto sizes = like.shape.sizes();
  sizes.insert(sizes.begin(), count);
  NewSamples samples;
  samples.set.inputs = std::visit([&](auto& all) { return adopt(std::move(all), sizes); }, values);
  samples.set.targets = torch::zeros({count}, torch::kInt64);
  samples.set.shape = like.shape;
  return samples;
}

NewSamples of_file(const fs::path& file, std::variant<Bytes, std::vector<float>> values, std::int64_t count,
                   const Preprocessing& like) {
  NewSamples samples = of(std::move(values), count, like);
  samples.files.assign(static_cast<std::size_t>(count), file.string());
  for (std::int64_t i = 0; i < count; ++i) samples.positions.push_back(i);
  return samples;
}

NewSamples read_table(const fs::path& file, const Preprocessing& like) {
  const auto width = elements_of(like.shape.sizes());
  if (!like.table.inputs.empty()) {
    BadSamples none(config::BadSample::kFail);
    auto rows = encode_table(file, like.table, {}, none);
    return of_file(file, std::move(rows.values), static_cast<std::int64_t>(rows.lines.size()), like);
  }
  auto values = read_number_rows(file, width, like.feature_names, {});
  const auto count = static_cast<std::int64_t>(values.size()) / width;
  return of_file(file, std::move(values), count, like);
}

// Flat samples may be those of images, as data.shape made them.
NewSamples read_array(const fs::path& file, const Preprocessing& like) {
  auto raw = read_npy_inputs(file, {});
  const auto wanted = like.shape.sizes();
  const bool flat = raw.sizes.size() == 1 || wanted.size() == 1;
  const auto elements =
      static_cast<std::int64_t>(std::visit([](const auto& values) { return values.size(); }, raw.values));
  if (raw.sizes != wanted && !(flat && elements_of(raw.sizes) == elements_of(wanted))) {
    fail_input(
        file, "",
        fmt::format("holds samples of shape {}, the run was trained on {}{}", shape_text(raw.sizes), shape_text(wanted),
                    elements == elements_of(wanted)
                        ? "; if it is a single sample, put a dimension of 1 before the others: x[None] in numpy"
                        : ""));
  }
  const bool pixels = std::holds_alternative<Bytes>(raw.values);
  if (pixels != (like.element == Element::kPixel)) {
    fail_input(file, "",
               pixels ? "is of type uint8, which are pixels; the run was trained on numbers (float32)"
                      : "holds numbers; the run was trained on pixels (uint8)");
  }
  return of_file(file, std::move(raw.values), elements / elements_of(wanted), like);
}

// Names every image that cannot be used.
NewSamples read_images(std::span<const fs::path> files, const Preprocessing& like) {
  Bytes pixels;
  std::vector<std::string> problems;
  for (const auto& file : files) {
    try {
      const auto planes = planes_of(file, like, {});
      pixels.insert(pixels.end(), planes.begin(), planes.end());
    } catch (const base::Error& error) {
      if (error.code() != base::ExitCode::kData) throw;
      problems.emplace_back(error.what());
    }
  }
  const auto more = problems.size() - std::min(problems.size(), kProblemsNamed);
  problems.resize(problems.size() - more);
  const std::string rest = more > 0 ? fmt::format("\nand {} more images", more) : "";
  if (!problems.empty()) throw base::Error(base::ExitCode::kData, base::joined(problems, "\n") + rest);
  NewSamples samples = of(std::move(pixels), static_cast<std::int64_t>(files.size()), like);
  for (const auto& file : files) samples.files.push_back(file.string());
  samples.positions.assign(files.size(), 0);
  return samples;
}

}  // namespace

NewSampleFiles::NewSampleFiles(const std::vector<std::string>& inputs, const Preprocessing& like) : like_(like) {
  if (like.shape.kind == SampleKind::kTokens) fail_input(inputs.at(0), "", "the run was trained on text");
  for (const fs::path input : inputs) {
    std::error_code ignored;
    if (!fs::exists(input, ignored)) fail_input(input, "", "does not exist");
    const auto found = fs::is_directory(input, ignored) ? images_below(input) : std::vector{input};
    files_.insert(files_.end(), found.begin(), found.end());
  }
  for (const auto& file : files_) require_fitting(file, like);
}

std::optional<NewSamples> NewSampleFiles::next() {
  if (next_ == files_.size()) return std::nullopt;
  const auto& file = files_[next_];
  if (kind_of(file) == FileKind::kTable) return ++next_, read_table(file, like_);
  if (kind_of(file) == FileKind::kArray) return ++next_, read_array(file, like_);
  const auto begin = files_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto limit = begin + static_cast<std::ptrdiff_t>(std::min(kImagesAtOnce, files_.size() - next_));
  const auto end = std::find_if(begin, limit, [](const auto& it) { return kind_of(it) != FileKind::kImage; });
  next_ = static_cast<std::size_t>(end - files_.begin());
  return read_images({begin, end}, like_);
}

}  // namespace esper::data
