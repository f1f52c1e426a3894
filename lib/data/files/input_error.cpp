#include "data/files/input_error.h"

#include <fmt/core.h>

namespace esper::data {

namespace {

std::string at_place(const std::filesystem::path& file, const std::string& place, const std::string& text) {
  const auto where = place.empty() ? file.string() : file.string() + ": " + place;
  return where + ": " + text;
}

}  // namespace

std::string at_byte(std::int64_t offset) { return fmt::format("byte {}", offset); }

std::string at_field(std::int64_t line, std::int64_t field) { return fmt::format("line {}, field {}", line, field); }

void fail_input(const std::filesystem::path& file, const std::string& place, const std::string& text) {
  throw base::Error(base::ExitCode::kData, at_place(file, place, text));
}

MissingData::MissingData(const std::string& path, const std::string& key)
    : base::Error(base::ExitCode::kData,
                  path + ": does not exist; data." + key + " names it, relative to the working directory"),
      key_(key) {}

void refuse_utf16(const std::filesystem::path& file, std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    fail_input(file, "", "is UTF-16 text; save it as UTF-8");
  }
}

void fail_config(const std::string& key, const std::string& text) {
  throw base::Error(base::ExitCode::kConfig, "data." + key + ": " + text);
}

void BadSamples::report(const std::filesystem::path& file, const std::string& place, const std::string& text) {
  if (policy_ == config::BadSample::kFail) {
    fail_input(file, place, text + " (data.bad_sample: skip would skip and count it)");
  }
  if (skipped_ == 0) first_ = at_place(file, place, text);
  ++skipped_;
}

}  // namespace esper::data
