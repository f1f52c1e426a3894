#include "data/readers/image_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/expected.h"
#include "data/files/image_decode.h"
#include "data/files/image_resize.h"
#include "data/files/memory_need.h"
#include "data/order/selection.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

struct ImageList {
  std::vector<fs::path> files;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names, class_places;
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
    list.class_places.push_back(list.files[before].string());
  }
  if (list.files.empty()) fail_input(folder, "", "holds no images; expected CLASS/*.jpg or CLASS/*.png");
  return list;
}

ImageList chosen(const ImageList& list, const std::vector<std::int64_t>& indices) {
  ImageList out{{}, {}, list.class_names, list.class_places};
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

struct ImageParts {
  ImageList train, validation;
  std::optional<ImageList> test;  // split off from the training part
};

ImageParts list_parts(const config::DataConfig& config) {
  ImageParts parts{list_images(image_training_folder(config.path)), {}, std::nullopt};
  const auto own = image_validation_folder(config);
  if (own) parts.validation = list_images(*own);
  const SplitFractions fractions{own ? 0 : config.validation_fraction, config.test_fraction};
  const auto count = static_cast<std::int64_t>(parts.train.files.size());
  require_splittable(config.path, count, fractions);
  const auto split = split_indices(count, fractions, config.split_seed);
  if (!own) parts.validation = chosen(parts.train, split.validation);
  if (fractions.test > 0) parts.test = chosen(parts.train, split.test);
  parts.train = chosen(parts.train, split.train);
  return parts;
}

using Sizes = std::vector<std::int64_t>;  // [C, H, W]

struct Picture {
  Sizes sizes;
  Bytes planes;
};
struct Unusable {
  std::string problem;
  bool for_lack_of_memory = false;
};
using Decoded = base::Expected<Picture, Unusable>;

// An image of other sizes than `expected` (where that is known) cannot be used.
Decoded decode_one(const fs::path& file, const config::DataConfig& config, const Sizes& expected,
                   const ReadOptions& options) {
  const std::int64_t channels = config.shape.size() == 3 && config.shape[0] == 1 ? 1 : 3;
  try {
    auto image = decode_image(file, options);
    if (config.image_size > 0) image = resize_square(std::move(image), config.image_size);
    Sizes sizes{channels, image.height, image.width};
    if (!expected.empty() && sizes != expected) {
      return base::failure(
          Unusable{fmt::format("is {} x {} pixels, the first is {} x {}; data.image_size resizes all to one size",
                               image.width, image.height, expected[2], expected[1])});
    }
    return Picture{std::move(sizes), to_planes(image, channels)};
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kData) throw;  // out of memory is not the image's fault
    // report() names the file again.
    return base::failure(Unusable{std::string(error.what()).substr(file.string().size() + 2)});
  }
}

std::size_t decoding_threads() { return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16); }

// Runs work(i) for all i on so many threads; what a thread throws is thrown here.
template <class Work>
void for_each_parallel(std::size_t count, std::size_t num_threads, Work work) {
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
    for (std::size_t t = 1; t < num_threads; ++t) threads.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

// What one image may take while so many are decoded at once, their samples existing beside them.
ReadOptions share_of(std::size_t num_threads, std::size_t sample_bytes, const ReadOptions& options) {
  const auto usable = usable_memory(options);
  const auto left = (usable.bytes - static_cast<std::int64_t>(sample_bytes)) / static_cast<std::int64_t>(num_threads);
  return {options.bad_sample, std::max<std::int64_t>(left, 1), usable.limit};
}

// Decodes the images of a list in portions, so that the unpacked images never exist twice. The first usable
// image, decoded alone, fixes the size; memory for all is taken then.
class Decoder {
 public:
  Decoder(const ImageList& list, const config::DataConfig& config, const ReadOptions& options, BadSamples& bad)
      : list_(list), config_(config), options_(options), bad_(bad) {}

  RawSamples decode() {
    constexpr std::size_t kPortion = 1024;
    samples_.class_names = list_.class_names;
    samples_.class_places = list_.class_places;
    for (std::size_t begin = 0, count = 0; begin < list_.files.size(); begin += count) {
      count = samples_.sizes.empty() ? 1 : std::min(kPortion, list_.files.size() - begin);
      decode_portion(begin, count);
    }
    values_.resize(samples_.labels.size() * sample_size());
    samples_.values = std::move(values_);
    return std::move(samples_);
  }

 private:
  std::size_t sample_size() const {
    return samples_.sizes.empty() ? 0 : static_cast<std::size_t>(elements_of(samples_.sizes));
  }

  // Pictures too large for a thread's share of the memory are decoded by half as many threads with twice the share, and
  // so on; those that do not fit one by one end the reading.
  std::vector<Decoded> decoded(std::size_t begin, std::size_t count) const {
    std::vector<Decoded> portion(count, base::failure(Unusable{}));
    std::vector<std::size_t> left(count);
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (auto threads = decoding_threads(); !left.empty(); threads = std::max<std::size_t>(threads / 2, 1)) {
      threads = std::min(threads, left.size());
      const auto share = share_of(threads, left.size() * sample_size(), options_);
      for_each_parallel(left.size(), threads, [&](std::size_t i) {
        portion[left[i]] = decode_or_refuse(list_.files[begin + left[i]], share, threads > 1);
      });
      std::erase_if(left, [&](std::size_t i) { return portion[i] || !portion[i].error().for_lack_of_memory; });
    }
    return portion;
  }

  Decoded decode_or_refuse(const fs::path& file, const ReadOptions& share, bool more_is_possible) const {
    try {
      return decode_one(file, config_, samples_.sizes, share);
    } catch (const base::Error& error) {
      if (!more_is_possible || error.code() != base::ExitCode::kResources) throw;
      return base::failure(Unusable{.problem = "", .for_lack_of_memory = true});
    }
  }

  void decode_portion(std::size_t begin, std::size_t count) {
    const auto portion = decoded(begin, count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& image = portion[i];
      if (!image) {
        bad_.report(list_.files[begin + i], "", image.error().problem);
        continue;
      }
      if (samples_.sizes.empty()) begin_with(*image, begin + i);
      const auto place = values_.begin() + static_cast<std::ptrdiff_t>(samples_.labels.size() * sample_size());
      std::ranges::copy(image->planes, place);
      samples_.labels.push_back(list_.labels[begin + i]);
    }
  }

  void begin_with(const Picture& image, std::size_t first) {
    samples_.sizes = image.sizes;
    const auto bytes = (list_.files.size() - first) * sample_size();
    require_memory(list_.files[first], "this and the other images (data.image_size and data.max_samples lower it)",
                   static_cast<std::int64_t>(bytes), options_);
    values_.resize(bytes);
  }

  const ImageList& list_;
  const config::DataConfig& config_;
  const ReadOptions& options_;
  BadSamples& bad_;
  RawSamples samples_;
  Bytes values_;  // all zero behind the samples that there are
};

RawSamples decode_all(const ImageList& list, const config::DataConfig& config, const ReadOptions& options,
                      BadSamples& bad) {
  return Decoder(list, config, options, bad).decode();
}

}  // namespace

fs::path image_training_folder(const fs::path& folder) { return first_folder({folder / "train"}).value_or(folder); }

std::optional<fs::path> image_validation_folder(const config::DataConfig& config) {
  if (!config.validation_path.empty()) return config.validation_path;
  const fs::path root = config.path;
  if (image_training_folder(root) == root) return std::nullopt;
  if (!config.test_path.empty()) return first_folder({root / "validation"});
  return first_folder({root / "validation", root / kImageTestFolder});
}

RawParts read_image_folder(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                           TestPart test) {
  const auto decoded = [&](const ImageList& list) {
    return decode_all(picked(list, config.max_samples), config, options, bad);
  };
  auto lists = list_parts(config);
  RawParts parts;
  parts.train = decoded(lists.train);
  parts.validation = decoded(lists.validation);
  if (test == TestPart::kUnread) return parts;
  if (!config.test_path.empty()) {
    const fs::path root = config.test_path;
    lists.test = list_images(first_folder({root / kImageTestFolder}).value_or(root));
  }
  if (lists.test) parts.test = decoded(*lists.test);
  return parts;
}

}  // namespace esper::data
