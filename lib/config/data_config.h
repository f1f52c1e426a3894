#pragma once
#include <cstdint>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

enum class DataKind { kDigits, kCsv, kMnist, kCifar10, kImages, kNpy, kText, kSynthetic };
constexpr auto names(DataKind) {
  using K = DataKind;
  return std::array{std::pair{K::kDigits, "digits"}, std::pair{K::kCsv, "csv"},
                    std::pair{K::kMnist, "mnist"},   std::pair{K::kCifar10, "cifar10"},
                    std::pair{K::kImages, "images"}, std::pair{K::kNpy, "npy"},
                    std::pair{K::kText, "text"},     std::pair{K::kSynthetic, "synthetic"}};
}

enum class BadSample { kFail, kSkip };
constexpr auto names(BadSample) {
  return std::array{std::pair{BadSample::kFail, "fail"}, std::pair{BadSample::kSkip, "skip"}};
}

enum class Resident { kAuto, kOn, kOff };
constexpr auto names(Resident) {
  using R = Resident;
  return std::array{std::pair{R::kAuto, "auto"}, std::pair{R::kOn, "on"}, std::pair{R::kOff, "off"}};
}

struct AugmentConfig {
  int crop_padding = 0;
  bool flip = false;

  static constexpr auto fields() {
    using C = AugmentConfig;
    return std::tuple{field("crop_padding", &C::crop_padding,
                            "random crop after padding by so many pixels; 0 turns it off", between(0, 64)),
                      field("flip", &C::flip, "mirror left to right, each training image with probability one half")};
  }
};

// Numbers drawn from a normal distribution around one centre for each class.
struct SyntheticConfig {
  std::int64_t samples = 1024;
  std::int64_t features = 16;
  std::int64_t classes = 4;
  double noise = 1.0;

  static constexpr auto fields() {
    using C = SyntheticConfig;
    return std::tuple{field("samples", &C::samples, "how many samples", between(1, 1e8)),
                      field("features", &C::features, "numbers in a sample", between(1, 1e6)),
                      field("classes", &C::classes, "how many classes", between(2, 1e5)),
                      field("noise", &C::noise, "standard deviation around a class's centre", between(0, 1e6))};
  }
};

struct DataConfig {
  DataKind kind = DataKind::kDigits;
  std::string path;
  std::string validation_path;
  double validation_fraction = 0.2;
  std::uint64_t split_seed = 0;
  int batch_size = 64;
  bool standardize = true;
  std::vector<std::int64_t> shape;
  std::int64_t max_samples = 0;
  int image_size = 0;
  int context = 64;
  BadSample bad_sample = BadSample::kFail;
  AugmentConfig augment;
  SyntheticConfig synthetic;
  int workers = 1;
  int prefetch = 2;
  bool pin_memory = true;
  bool persistent_workers = true;
  bool gpu_prefetch = true;
  Resident gpu_dataset = Resident::kAuto;

  static constexpr auto fields() {
    using C = DataConfig;
    return std::tuple{
        field("kind", &C::kind,
              "format of the data; if left out, text where host.kind is transformer and path names anything but a .csv "
              "or .csv.gz file"),
        field(
            "path", &C::path,
            "file or folder, laid out as docs/data.md says; empty takes the data that comes with Esper (digits only)"),
        field("validation_path", &C::validation_path, "validation data of its own; empty splits off a part of `path`"),
        field("validation_fraction", &C::validation_fraction, "share of the samples that is split off for validation",
              between(0.01, 0.9)),
        field("split_seed", &C::split_seed, "which split; the same number gives the same split on any machine"),
        field("batch_size", &C::batch_size, "samples in one microbatch", between(1, 1e6)),
        field("standardize", &C::standardize, "scale to mean 0 and deviation 1, measured on the training part alone"),
        field("shape", &C::shape,
              "shape of one sample, [channels, height, width]; empty keeps the format's own; if left out, [1, 8, 8] "
              "for a cnn on the digits that come with Esper",
              between(1, 65536)),
        field("max_samples", &C::max_samples, "use so many of each part, evenly over the file; 0 uses all",
              at_least(0)),
        field("image_size", &C::image_size, "images are scaled to so many pixels square; 0 demands equal sizes",
              between(0, 4096)),
        field("context", &C::context, "characters in one sample of text", between(1, 65536)),
        field("bad_sample", &C::bad_sample, "fail on a sample that cannot be read, or skip and count it"),
        field("augment", &C::augment, "random changes to training images"),
        field("synthetic", &C::synthetic, "for kind synthetic"),
        field("workers", &C::workers, "threads that prepare batches; 0 prepares them in the training thread",
              between(0, 256)),
        field("prefetch", &C::prefetch, "batches prepared ahead", between(1, 1024)),
        field("pin_memory", &C::pin_memory, "stage batches in page-locked memory (CUDA only)"),
        field("persistent_workers", &C::persistent_workers, "keep the threads from one epoch to the next"),
        field("gpu_prefetch", &C::gpu_prefetch, "copy the next batch to the device beside the step (CUDA only)"),
        field("gpu_dataset", &C::gpu_dataset,
              "keep the data set on the device and make batches there; auto does so on CUDA while it takes less than a "
              "quarter of the free memory")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
