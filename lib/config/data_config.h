#pragma once
#include <cstdint>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

enum class DataKind {
  kDigits,
  kCsv,
  kMnist,
  kCifar10,
  kImages,
  kNpy,
  kText,
  kSynthetic,
  kTable,
  kParquet,
  kDatasets,
  kWebdataset,
  kTokens,
  kProcess
};
constexpr auto names(DataKind) {
  using K = DataKind;
  return std::array{std::pair{K::kDigits, "digits"},     std::pair{K::kCsv, "csv"},
                    std::pair{K::kMnist, "mnist"},       std::pair{K::kCifar10, "cifar10"},
                    std::pair{K::kImages, "images"},     std::pair{K::kNpy, "npy"},
                    std::pair{K::kText, "text"},         std::pair{K::kSynthetic, "synthetic"},
                    std::pair{K::kTable, "table"},       std::pair{K::kParquet, "parquet"},
                    std::pair{K::kDatasets, "datasets"}, std::pair{K::kWebdataset, "webdataset"},
                    std::pair{K::kTokens, "tokens"},     std::pair{K::kProcess, "process"}};
}

enum class BadSample { kFail, kSkip };
constexpr auto names(BadSample) {
  return std::array{std::pair{BadSample::kFail, "fail"}, std::pair{BadSample::kSkip, "skip"}};
}

// What becomes of a value that a table lacks.
enum class MissingValue { kFail, kMean, kZero };
constexpr auto names(MissingValue) {
  using M = MissingValue;
  return std::array{std::pair{M::kFail, "fail"}, std::pair{M::kMean, "mean"}, std::pair{M::kZero, "zero"}};
}

// How a file of tokens stores one.
enum class TokenType { kUint16, kUint32 };
constexpr auto names(TokenType) {
  return std::array{std::pair{TokenType::kUint16, "uint16"}, std::pair{TokenType::kUint32, "uint32"}};
}

enum class Resident { kAuto, kOn, kOff };
constexpr auto names(Resident) {
  using R = Resident;
  return std::array{std::pair{R::kAuto, "auto"}, std::pair{R::kOn, "on"}, std::pair{R::kOff, "off"}};
}

struct AugmentConfig {
  int crop_padding = 0;
  bool flip = false;

  template <class = void>
  static constexpr auto fields() {
    using C = AugmentConfig;
    return std::tuple{field("crop_padding", &C::crop_padding, "padding in pixels before a random crop; 0 turns it off",
                            between(0, 64)),
                      field("flip", &C::flip, "horizontal flip of each training image with probability 0.5")};
  }
};

// Numbers drawn from a normal distribution around one centre for each class.
struct SyntheticConfig {
  std::int64_t samples = 1024;
  std::int64_t features = 16;
  std::int64_t classes = 4;
  double noise = 1.0;

  template <class = void>
  static constexpr auto fields() {
    using C = SyntheticConfig;
    return std::tuple{field("samples", &C::samples, "how many samples", between(1, 1e8)),
                      field("features", &C::features, "numbers in a sample", between(1, 1e6)),
                      field("classes", &C::classes, "how many classes", between(2, 1e5)),
                      field("noise", &C::noise, "standard deviation around each class's centre", between(0, 1e6))};
  }
};

// Which columns of a table are what.
struct ColumnsConfig {
  std::vector<std::string> target;
  std::vector<std::string> features;
  std::vector<std::string> categorical;
  MissingValue missing = MissingValue::kFail;

  template <class = void>
  static constexpr auto fields() {
    using C = ColumnsConfig;
    return std::tuple{
        field("target", &C::target,
              "the column with the target; several for tasks multilabel and regression; default: the last column"),
        field("features", &C::features, "the columns with the inputs, in this order; empty: all others"),
        field("categorical", &C::categorical,
              "the input columns that hold words: each is one-hot encoded, as one input of 0 or 1 for each of its "
              "different words"),
        field("missing", &C::missing,
              "empty cells: fail, or the mean of the column's training part, or zero; an empty word is a word of its "
              "own")};
  }
};

struct DataConfig {
  DataKind kind = DataKind::kDigits;
  std::string path;
  std::string validation_path;
  std::string test_path;
  double validation_fraction = 0.2;
  double test_fraction = 0;
  std::uint64_t split_seed = 0;
  int batch_size = 64;
  bool standardize = true;
  bool standardize_targets = false;
  std::vector<std::int64_t> shape;
  std::int64_t max_samples = 0;
  std::int64_t epoch_samples = 0;
  int image_size = 0;
  int context = 64;
  BadSample bad_sample = BadSample::kFail;
  AugmentConfig augment;
  ColumnsConfig columns;
  std::string labels;
  TokenType token_type = TokenType::kUint16;
  std::string vocabulary;
  std::vector<std::string> command;
  SyntheticConfig synthetic;
  int workers = 1;
  int prefetch = 2;
  bool pin_memory = true;
  bool persistent_workers = true;
  bool gpu_prefetch = true;
  Resident gpu_dataset = Resident::kAuto;

  template <class = void>
  static constexpr auto fields() {
    using C = DataConfig;
    return std::tuple{
        field("kind", &C::kind,
              "format of the data; default: text if host.kind is transformer and path is not a .csv or .csv.gz file"),
        field("path", &C::path,
              "file or folder in a layout of docs/data.md; empty uses the bundled data (digits only)"),
        field("validation_path", &C::validation_path, "separate validation data; empty splits off a part of `path`"),
        field("test_path", &C::test_path,
              "separate test data, which training never reads and `esper evaluate` measures; if it has a test part of "
              "its own (docs/data.md), only that part"),
        field("validation_fraction", &C::validation_fraction,
              "fraction of the samples that is split off for validation; default: at most half of what "
              "data.test_fraction leaves",
              between(0.01, 0.9)),
        field("test_fraction", &C::test_fraction,
              "fraction of the samples that is split off for testing; 0 splits none off", between(0, 0.9)),
        field("split_seed", &C::split_seed, "seed of the split; the same number gives the same split on any machine"),
        field("batch_size", &C::batch_size, "samples in one microbatch", between(1, 1e6)),
        field("standardize", &C::standardize,
              "scale inputs to mean 0 and standard deviation 1, computed on the training part"),
        field("standardize_targets", &C::standardize_targets,
              "regression: train on targets that are scaled likewise; predictions, exports, MAE and RMSE are in the "
              "data's units, losses in standardised ones"),
        field("shape", &C::shape,
              "shape of one sample, [channels, height, width]; empty keeps the shape of the format; default: [1, 8, 8] "
              "for a cnn on the bundled digits",
              between(1, 65536)),
        field("max_samples", &C::max_samples,
              "maximum number of samples of each part, spread evenly over the file; 0 uses all", at_least(0)),
        field("epoch_samples", &C::epoch_samples,
              "training samples in one epoch, drawn again from all of them for each epoch; 0 uses all", at_least(0)),
        field("image_size", &C::image_size,
              "width and height that images are resized to; 0 requires images of equal size", between(0, 4096)),
        field("context", &C::context, "characters in one sample of text", between(1, 65536)),
        field("bad_sample", &C::bad_sample, "fail on a sample that cannot be read, or skip and count it"),
        field("augment", &C::augment, "random changes to training images"),
        field("columns", &C::columns, "kinds table, parquet and datasets, and data.labels: the roles of the columns"),
        field("labels", &C::labels,
              "images: CSV file whose first column names a file below data.path and whose column data.columns.target "
              "holds its target; empty: the folders are the classes"),
        field("token_type", &C::token_type, "tokens: type that the file stores a token in, little-endian"),
        field("vocabulary", &C::vocabulary,
              "tokens: JSON file with the list of the tokens' texts, for `esper predict`; empty: tokens stay numbers"),
        field("command", &C::command,
              "process: program and arguments, without a shell, that writes the samples to its standard output "
              "(docs/data.md)"),
        field("synthetic", &C::synthetic, "settings of kind synthetic"),
        field("workers", &C::workers, "threads that prepare batches; 0 prepares them in the training thread",
              between(0, 256)),
        field("prefetch", &C::prefetch, "batches prepared in advance", between(1, 1024)),
        field("pin_memory", &C::pin_memory, "stage batches in pinned memory (CUDA only)"),
        field("persistent_workers", &C::persistent_workers, "keep the threads from one epoch to the next"),
        field("gpu_prefetch", &C::gpu_prefetch, "copy the next batch to the device during the step (CUDA only)"),
        field("gpu_dataset", &C::gpu_dataset,
              "keep the data set on the device and build batches there; auto: on CUDA, if it needs less than a quarter "
              "of the free memory and, in a run long enough to measure it, copies of the batches are not a tenth "
              "faster")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
