#pragma once
// The classes of a CSV file's samples, read one after another: first numbered in order of appearance, at the end as
// labels. Not for several threads at once.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

class CsvClasses {
 public:
  // Both outlive it. `file` is named in errors.
  CsvClasses(const std::filesystem::path& file, const ReadOptions& options) : file_(file), options_(options) {}

  void reserve(std::int64_t samples) { ids_.reserve(static_cast<std::size_t>(samples)); }
  bool empty() const { return ids_.empty(); }

  enum class Kind { kNumber, kName };
  struct Class {
    std::string text;
    Kind kind;
  };
  // That of the next sample. other_bytes: of memory that the caller reserved and does not use yet. Throws Error{kData}
  // where there are too many classes, and as require_memory().
  void add(Class one, std::int64_t line, std::int64_t other_bytes);

  // Where the first sample's class is a name and all others are numbers, or the other way round: drops that sample and
  // returns its class.
  std::optional<Class> drop_odd_first();

  // Sets labels, class names and their places. Numbers sort by value and names by bytes.
  void finish(RawSamples& samples) const;

 private:
  struct Known {
    std::int64_t id, line;  // in order of appearance; where it first occurs
  };
  std::int64_t id_of(std::string text, std::int64_t line, std::int64_t other_bytes);

  const std::filesystem::path& file_;
  const ReadOptions& options_;
  std::map<std::string, Known> known_;  // sorted by bytes
  std::vector<std::int64_t> ids_;       // of each sample
  Kind first_ = Kind::kNumber;          // the first sample's class
  std::int64_t named_ = 0;              // samples whose class is a name
  std::int64_t next_id_ = 0, name_bytes_ = 0, checked_name_bytes_ = 1 << 16;
};

}  // namespace esper::data
