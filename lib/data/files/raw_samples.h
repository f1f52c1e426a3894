#pragma once
// What a reader hands over: samples as plain memory, before any tensor.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/data_config.h"
#include "config/task.h"
#include "data/files/table_encoding.h"

namespace esper::data {

using Bytes = std::vector<std::uint8_t>;

struct RawSamples {
  std::vector<std::int64_t> sizes;                 // of one sample: [F] or [C, H, W]
  std::variant<Bytes, std::vector<float>> values;  // samples one after another; bytes are pixels
  std::vector<std::int64_t> labels;                // from 0: one a sample, or one a pixel; none where it has numbers
  std::vector<float> numbers;                      // targets of tasks multilabel (0 or 1) and regression
  std::vector<std::int64_t> target_sizes;       // of one sample: empty: one label; [H, W]: of each pixel; [K] numbers
  std::vector<std::string> class_names;         // of label i, or of number i; empty where the format has none
  std::vector<std::string> class_places;        // "line 12" or an image's path: where label i first occurs
  std::vector<std::string> feature_names = {};  // of a header; empty where there is none, or names are not distinct
  std::string target_name = {};                 // of a header's last column; empty where there is none
};

std::int64_t samples_in(const RawSamples& samples);

// What a file or folder holds, or a run file names, of each part.
struct RawParts {
  RawSamples train;
  std::optional<RawSamples> validation = {}, test = {};
  TableEncoding table = {};  // of data with named columns
  std::int64_t skipped = 0;
  std::string first_skipped = {};  // BadSamples::first()
};

// Which parts of a file or folder a reader reads. One that it does not read is not opened.
enum class Parts {
  kAll,
  kTraining,
  kTest,  // `train` stays empty; `test` is empty where the data bring none
};

struct ReadOptions {
  config::BadSample bad_sample = config::BadSample::kFail;
  std::int64_t max_bytes = 0;  // most memory that any one stage of reading may take; 0: what the process may have
  std::string limit = {};  // what bounds max_bytes, for a message (base::MemoryRoom::limit); empty: the caller's choice
  config::Task task = config::Task::kClassification;  // what a target is
};

// The largest class number that is believed; a larger one is a damaged file or no class at all.
constexpr std::int64_t kMaxClasses = 1'000'000;

std::int64_t elements_of(const std::vector<std::int64_t>& sizes);
// The product, or nothing if it overflows or a size is negative.
std::optional<std::int64_t> checked_product(const std::vector<std::int64_t>& sizes);

// Gives each sample the sizes that data.shape asks for. Throws Error{kConfig} if the number of elements differs.
void reshape(RawSamples& samples, const std::vector<std::int64_t>& shape);

// Renumbers the validation part's labels so that both parts mean the same class by a number. Throws Error{kData} on a
// class that training never sees. Nothing to do where the format has no names.
void align_classes(const RawSamples& train, RawSamples& validation, const std::filesystem::path& validation_file);

// Gives the numbers of each sample the order of `names`, where its own names are known. Throws Error{kData} naming a
// column that is not there.
void align_features(const std::vector<std::string>& names, RawSamples& samples, const std::filesystem::path& file);

// Throws Error{kData} naming both columns where the header of a part calls its target otherwise than that of the
// training data, which is `known`.
void require_same_target(const std::string& known, const RawSamples& samples, const std::filesystem::path& file);

}  // namespace esper::data
