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
#include "data/readers/image_list.h"
#include "data/table/table_split.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

ImageList picked(const ImageList& list, std::int64_t wanted) {
  return chosen_images(list, evenly(static_cast<std::int64_t>(list.files.size()), wanted));
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
Decoded decode_one(const ImageList& list, std::size_t number, const config::DataConfig& config, const Sizes& expected,
                   const ReadOptions& options) {
  const auto& file = list.files[number];
  const std::int64_t channels = config.shape.size() == 3 && config.shape[0] == 1 ? 1 : 3;
  try {
    auto image =
        list.contents.empty() ? decode_image(file, options) : decode_image(list.contents[number], file, options);
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
  Decoder(ImageList list, const config::DataConfig& config, const ReadOptions& options, BadSamples& bad)
      : list_(std::move(list)), config_(config), options_(options), bad_(bad) {}

  RawSamples decode() {
    constexpr std::size_t kPortion = 1024;
    for (std::size_t begin = 0, count = 0; begin < list_.files.size(); begin += count) {
      count = sizes_.empty() ? 1 : std::min(kPortion, list_.files.size() - begin);
      decode_portion(begin, count);
    }
    values_.resize(kept_.size() * sample_size());
    auto samples = chosen_targets(list_.targets, kept_);
    samples.sizes = sizes_;
    samples.values = std::move(values_);
    return samples;
  }

 private:
  std::size_t sample_size() const { return sizes_.empty() ? 0 : static_cast<std::size_t>(elements_of(sizes_)); }

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
        portion[left[i]] = decode_or_refuse(begin + left[i], share, threads > 1);
      });
      std::erase_if(left, [&](std::size_t i) { return portion[i] || !portion[i].error().for_lack_of_memory; });
    }
    return portion;
  }

  Decoded decode_or_refuse(std::size_t number, const ReadOptions& share, bool more_is_possible) const {
    try {
      return decode_one(list_, number, config_, sizes_, share);
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
      if (sizes_.empty()) begin_with(*image, begin + i);
      const auto place = values_.begin() + static_cast<std::ptrdiff_t>(kept_.size() * sample_size());
      std::ranges::copy(image->planes, place);
      kept_.push_back(static_cast<std::int64_t>(begin + i));
    }
  }

  void begin_with(const Picture& image, std::size_t first) {
    sizes_ = image.sizes;
    const auto bytes = (list_.files.size() - first) * sample_size();
    require_memory(list_.files[first], "this and the other images (data.image_size and data.max_samples lower it)",
                   static_cast<std::int64_t>(bytes), options_);
    values_.resize(bytes);
  }

  const ImageList list_;
  const config::DataConfig& config_;
  const ReadOptions& options_;
  BadSamples& bad_;
  Sizes sizes_;                     // of every image; empty until there is one
  std::vector<std::int64_t> kept_;  // the images of the list that could be read
  Bytes values_;                    // all zero behind the samples that there are
};

}  // namespace

RawSamples decode_images(const ImageList& list, const config::DataConfig& config, const ReadOptions& options,
                         BadSamples& bad) {
  return Decoder(list, config, options, bad).decode();
}

RawParts read_image_folder(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                           TestPart test) {
  const auto decoded = [&](const ImageList& list) {
    return decode_images(picked(list, config.max_samples), config, options, bad);
  };
  const auto lists = list_image_parts(config, options, bad, test);
  RawParts parts;
  parts.train = decoded(lists.train);
  parts.validation = decoded(lists.validation);
  if (test == TestPart::kUnread) return parts;
  if (lists.test) parts.test = decoded(*lists.test);
  return parts;
}

RawSamples read_image_test(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad) {
  return decode_images(picked(list_image_test(config, options, bad), config.max_samples), config, options, bad);
}

}  // namespace esper::data
