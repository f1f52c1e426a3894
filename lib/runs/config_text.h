#pragma once
// A run's config.yaml as a list of fields, without parsing YAML: the file is what config::resolved_yaml() writes, one
// field a line. Many times as fast as config::read_run_config_text(), and no file makes it throw. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace esper::runs {

class ConfigText {
 public:
  // A file that is longer than 1 MiB, empty, or has a line that is no field or section, or a list or text without its
  // end, is refused, with the line's number.
  static base::Expected<ConfigText> read(std::string text);

  // The value as it is written, empty where there is none behind the field's name; nothing where there is no field of
  // that path ("training.optimizer.lr"). A section has no value.
  std::optional<std::string_view> value_of(std::string_view path) const;
  // The same without quotes where it has some; empty where there is nothing.
  std::string text_of(std::string_view path) const;
  // config::config_hash() of a configuration that was written so, by this version or an earlier one: 16 digits.
  std::string hash() const;

 private:
  // In text_. A section has no value.
  struct Line {
    std::size_t indent, key, key_size, value, value_size;
  };
  bool take(std::size_t begin, std::size_t end);
  std::string_view key_of(const Line& line) const { return std::string_view(text_).substr(line.key, line.key_size); }
  std::string_view value_in(const Line& line) const {
    return std::string_view(text_).substr(line.value, line.value_size);
  }

  std::string text_;
  std::vector<Line> lines_;
};

// ConfigText::hash() of the run in this folder, as `esper config check` prints it; empty where its config.yaml cannot
// be read. It takes as long as all else that is read of a run, so listing many runs leaves it out. Any thread.
std::string config_hash_of(const std::string& run);

}  // namespace esper::runs
