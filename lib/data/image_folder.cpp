#include "data/image_folder.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "data/image_decode.h"
#include "data/image_resize.h"
#include "data/selection.h"
#include "leyline/error.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

struct ImageList {
  std::vector<fs::path> files;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;
};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  if (error) fail_input(folder, "", "cannot be listed: " + error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_image_name(const fs::path& file) {
  auto extension = file.extension().string();
  for (auto& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

ImageList list_images(const fs::path& folder) {
  ImageList list;
  std::error_code ignored;
  for (const auto& entry : sorted_entries(folder)) {
    if (!fs::is_directory(entry, ignored) || entry.filename().string().starts_with(".")) continue;
    const auto before = list.files.size();
    for (const auto& file : sorted_entries(entry)) {
      if (is_image_name(file)) list.files.push_back(file);
    }
    if (list.files.size() == before) continue;
    list.labels.resize(list.files.size(), static_cast<std::int64_t>(list.class_names.size()));
    list.class_names.push_back(entry.filename().string());
  }
  if (list.files.empty()) fail_input(folder, "", "holds no pictures; expected CLASS/*.jpg or CLASS/*.png");
  return list;
}

ImageList chosen(const ImageList& list, const std::vector<std::int64_t>& indices) {
  ImageList out{{}, {}, list.class_names};
  for (const auto i : indices) {
    out.files.push_back(list.files[static_cast<std::size_t>(i)]);
    out.labels.push_back(list.labels[static_cast<std::size_t>(i)]);
  }
  return out;
}

ImageList picked(const ImageList& list, std::int64_t wanted) {
  return chosen(list, evenly(static_cast<std::int64_t>(list.files.size()), wanted));
}

std::optional<fs::path> first_folder(std::initializer_list<fs::path> candidates) {
  std::error_code ignored;
  for (const auto& candidate : candidates) {
    if (fs::is_directory(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

std::pair<ImageList, ImageList> list_parts(const leyline::DataConfig& config) {
  const fs::path root = config.path;
  const auto train_folder = first_folder({root / "train"}).value_or(root);
  auto train = list_images(train_folder);
  auto own = config.validation_path.empty() ? std::nullopt : std::optional<fs::path>(config.validation_path);
  if (!own && train_folder != root) own = first_folder({root / "validation", root / "test"});
  if (own) return {std::move(train), list_images(*own)};
  const auto count = static_cast<std::int64_t>(train.files.size());
  if (count < 2) fail_input(root, "", "holds one picture; a split into training and validation needs two");
  const auto split = split_indices(count, config.validation_fraction, config.split_seed);
  return {chosen(train, split.train), chosen(train, split.validation)};
}

using Sizes = std::vector<std::int64_t>;  // [C, H, W]

struct Decoded {
  Sizes sizes;
  Bytes planes;         // empty: cannot be used
  std::string problem;  // why
};

// A picture of other sizes than `expected` (where that is known) cannot be used.
Decoded decode_one(const fs::path& file, const leyline::DataConfig& config, const Sizes& expected,
                   const ReadOptions& options) {
  const std::int64_t channels = config.shape.size() == 3 && config.shape[0] == 1 ? 1 : 3;
  try {
    auto image = decode_image(file, options);
    if (config.image_size > 0) image = resize_square(std::move(image), config.image_size);
    Sizes sizes{channels, image.height, image.width};
    if (!expected.empty() && sizes != expected) {
      return {sizes,
              {},
              "is " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels, the first is " +
                  std::to_string(expected[2]) + " x " + std::to_string(expected[1]) +
                  "; data.image_size scales all to one size"};
    }
    return {sizes, to_planes(image, channels), ""};
  } catch (const leyline::Error& error) {
    return {{}, {}, std::string(error.what()).substr(file.string().size() + 2)};  // report() names the file again
  }
}

// Runs work(i) for all i on several threads; what a thread throws is thrown here.
template <class Work>
void for_each_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      for (auto i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto wanted = std::min<std::size_t>({std::thread::hardware_concurrency(), 16, count});
    for (std::size_t t = 1; t < wanted; ++t) threads.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

// In portions, so that the unpacked pictures never exist twice. The first usable picture, decoded alone, fixes the
// size.
RawSamples decode_all(const ImageList& list, const leyline::DataConfig& config, const ReadOptions& options,
                      BadSamples& bad) {
  constexpr std::size_t kPortion = 1024;
  const auto limit = static_cast<std::size_t>(options.max_bytes > 0 ? options.max_bytes : default_max_bytes());
  RawSamples samples;
  samples.class_names = list.class_names;
  Bytes values;
  for (std::size_t begin = 0, count = 0; begin < list.files.size(); begin += count) {
    count = samples.sizes.empty() ? 1 : std::min(kPortion, list.files.size() - begin);
    if (values.size() + count * static_cast<std::size_t>(elements_of(samples.sizes)) > limit) {
      fail_input(list.files[begin], "",
                 "the decoded pictures pass the limit of " + std::to_string(limit) +
                     " bytes; lower data.image_size or data.max_samples");
    }
    std::vector<Decoded> portion(count);
    for_each_parallel(
        count, [&](std::size_t i) { portion[i] = decode_one(list.files[begin + i], config, samples.sizes, options); });
    for (std::size_t i = 0; i < count; ++i) {
      const auto& image = portion[i];
      if (image.planes.empty()) {
        bad.report(list.files[begin + i], "", image.problem);
        continue;
      }
      samples.sizes = image.sizes;
      values.insert(values.end(), image.planes.begin(), image.planes.end());
      samples.labels.push_back(list.labels[begin + i]);
    }
  }
  samples.values = std::move(values);
  return samples;
}

}  // namespace

RawParts read_image_folder(const leyline::DataConfig& config, const ReadOptions& options, BadSamples& bad) {
  const auto [train, validation] = list_parts(config);
  RawParts parts;
  parts.train = decode_all(picked(train, config.max_samples), config, options, bad);
  parts.validation = decode_all(picked(validation, config.max_samples), config, options, bad);
  return parts;
}

}  // namespace esper::data
