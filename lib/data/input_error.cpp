#include "data/input_error.h"

#include "leyline/error.h"

namespace esper::data {

std::string at_byte(std::int64_t offset) { return "byte " + std::to_string(offset); }

std::string at_field(std::int64_t line, std::int64_t field) {
  return "line " + std::to_string(line) + ", field " + std::to_string(field);
}

void fail_input(const std::filesystem::path& file, const std::string& place, const std::string& text) {
  const auto where = place.empty() ? file.string() : file.string() + ": " + place;
  throw leyline::Error(leyline::ExitCode::kData, where + ": " + text);
}

void fail_config(const std::string& key, const std::string& text) {
  throw leyline::Error(leyline::ExitCode::kConfig, "data." + key + ": " + text);
}

void BadSamples::report(const std::filesystem::path& file, const std::string& place, const std::string& text) {
  if (policy_ == leyline::BadSample::kFail) {
    fail_input(file, place, text + " (data.bad_sample: skip would skip and count it)");
  }
  ++skipped_;
}

}  // namespace esper::data
