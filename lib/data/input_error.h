#pragma once
// Errors about input files: they name the file, the place in it and what was expected. Any thread.

#include <cstdint>
#include <filesystem>
#include <string>

#include "leyline/config/data_config.h"

namespace esper::data {

std::string at_byte(std::int64_t offset);
std::string at_field(std::int64_t line, std::int64_t field);  // both from 1

// Throws leyline::Error{kData}: "FILE: PLACE: TEXT". An empty place names the file alone.
[[noreturn]] void fail_input(const std::filesystem::path& file, const std::string& place, const std::string& text);

// Throws leyline::Error{kConfig}: the data are fine, but the run file asks for something that they are not.
[[noreturn]] void fail_config(const std::string& key, const std::string& text);

// What to do with a sample that cannot be read: fail on it, or count it and go on.
class BadSamples {
 public:
  explicit BadSamples(leyline::BadSample policy) : policy_(policy) {}
  // Throws like fail_input(), or counts.
  void report(const std::filesystem::path& file, const std::string& place, const std::string& text);
  std::int64_t skipped() const { return skipped_; }

 private:
  leyline::BadSample policy_;
  std::int64_t skipped_ = 0;
};

}  // namespace esper::data
