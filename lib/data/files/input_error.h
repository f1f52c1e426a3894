#pragma once
// Errors about input files: they name the file, the place in it and what was expected. Any thread.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/data_config.h"

namespace esper::data {

std::string at_byte(std::int64_t offset);
std::string at_field(std::int64_t line, std::int64_t field);  // both from 1

// Throws base::Error{kData}: "FILE: PLACE: TEXT". An empty place names the file alone.
[[noreturn]] void fail_input(const std::filesystem::path& file, const std::string& place, const std::string& text);

// A file or folder that a field of the run file names and that is not there. kData.
class MissingData : public base::Error {
 public:
  // key: of the section data.
  MissingData(const std::string& path, const std::string& key);
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

// Throws likewise where the bytes begin with the byte-order mark of UTF-16.
void refuse_utf16(const std::filesystem::path& file, std::string_view bytes);

// Throws base::Error{kConfig}: the data are valid, but do not fit the run file.
[[noreturn]] void fail_config(const std::string& key, const std::string& text);

// What to do with a sample that cannot be read: fail on it, or count it and go on.
class BadSamples {
 public:
  explicit BadSamples(config::BadSample policy) : policy_(policy) {}
  // Throws like fail_input(), or counts.
  void report(const std::filesystem::path& file, const std::string& place, const std::string& text);
  std::int64_t skipped() const { return skipped_; }
  // "FILE: PLACE: TEXT" of the first that was counted; empty: none was.
  const std::string& first() const { return first_; }

 private:
  config::BadSample policy_;
  std::int64_t skipped_ = 0;
  std::string first_;
};

}  // namespace esper::data
