#include "runs/config_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/parse_number.h"
#include "base/text/digits_only.h"
#include "base/text/printable.h"
#include "config/fields/field_table.h"
#include "config/yaml/yaml_document.h"
#include "runs/run_folder_reader.h"

namespace esper::runs {
namespace {

using nlohmann::json;

constexpr std::size_t kUsualLines = 320;

bool is_key(std::string_view text) {
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, is_part);
}

// Fields whose numbers JSON has as real ones: 1.0, not 1.
bool is_real_field(const std::string& path) {
  static const auto paths = [] {
    std::unordered_set<std::string> found;
    config::RunConfig standard;
    for (const auto& row : config::field_table(standard)) {
      const bool is_real =
          std::holds_alternative<double*>(row.value) || std::holds_alternative<std::vector<double>*>(row.value);
      if (is_real) found.insert(row.path);
    }
    return found;
  }();
  return paths.contains(path);
}

bool is_whole(std::string_view value) { return base::digits_only(value.substr(value.front() == '-' ? 1 : 0)); }

std::string real_json(std::string_view value) {
  const auto number = base::parse_number<double>(value);
  return number ? json(*number).dump() : std::string(value);
}

// Where the quotes that begin at `from` end, or text.size().
std::size_t end_of_quotes(std::string_view text, std::size_t from) {
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

// A list or a quoted text that begins ends with the line: what was cut off does not.
bool is_whole_value(std::string_view value) {
  if (value.front() == '"') return end_of_quotes(value, 0) + 1 == value.size();
  if (value.front() != '[') return true;
  std::size_t at = 1;
  while (at < value.size() && value[at] != ']') at = (value[at] == '"' ? end_of_quotes(value, at) : at) + 1;
  return at + 1 == value.size();
}

std::string list_json(std::string_view value, const std::string& path) {
  json list = json::parse(value, nullptr, false);
  if (!list.is_array()) return std::string(value);
  for (auto& item : list) {
    if (item.is_number() && is_real_field(path)) item = item.get<double>();
  }
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string quoted_json(std::string_view value) {
  if (value.find('\\') == std::string_view::npos) return std::string(value);
  const json text = json::parse(value, nullptr, false);
  return text.is_discarded() ? std::string(value) : text.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The value as nlohmann::json dumps it. Names, durations and lengths are written bare.
std::string value_json(const std::string& path, std::string_view value) {
  if (value == "[]" || value == "true" || value == "false") return std::string(value);
  if (value.front() == '[') return list_json(value, path);
  if (value.front() == '"') return quoted_json(value);
  const bool is_number = value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
  if (is_number && is_real_field(path)) return real_json(value);
  return is_number && is_whole(value) ? std::string(value) : "\"" + std::string(value) + "\"";
}

// The path of the line that is being looked at: the names of the sections around it, and its own.
class Path {
 public:
  // The number of sections that end before the line.
  std::size_t move_to(std::string_view key, std::size_t indent) {
    std::size_t left = 0;
    while (!open_.empty() && open_.back().indent >= indent) {
      open_.pop_back();
      ++left;
    }
    text_.resize(open_.empty() ? 0 : open_.back().size);
    if (!text_.empty()) text_ += '.';
    text_ += key;
    return left;
  }
  void enter(std::size_t indent) { open_.push_back({indent, text_.size()}); }
  const std::string& text() const { return text_; }
  std::size_t depth() const { return open_.size(); }

 private:
  struct Section {
    std::size_t indent, size;  // size: of the text up to its name
  };
  std::vector<Section> open_;
  std::string text_;
};

}  // namespace

bool ConfigText::take(std::size_t begin, std::size_t end) {
  const std::string_view line = std::string_view(text_).substr(begin, end - begin);
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || line[indent] == '#') return true;
  const std::size_t colon = line.find(':', indent);
  if (colon == std::string_view::npos || !is_key(line.substr(indent, colon - indent))) return false;
  if (lines_.empty() && indent > 0) return false;
  const std::size_t value = line.find_first_not_of(' ', colon + 1);
  const std::size_t size = value == std::string_view::npos ? 0 : line.find_last_not_of(' ') + 1 - value;
  if (size > 0 && !is_whole_value(line.substr(value, size))) return false;
  lines_.push_back({indent, begin + indent, colon - indent, size == 0 ? 0 : begin + value, size});
  return true;
}

base::Expected<ConfigText> ConfigText::read(std::string text) {
  if (text.size() > config::YamlLimits::kBytes) return base::failure("it has more than 1 MiB");
  ConfigText config;
  config.text_ = std::move(text);
  config.lines_.reserve(kUsualLines);
  const std::string_view whole = config.text_;
  std::size_t begin = 0;
  for (std::size_t number = 1; begin < whole.size(); ++number) {
    const std::size_t end = std::min(whole.find('\n', begin), whole.size());
    if (!config.take(begin, end)) {
      const std::string line(base::shortened(whole.substr(begin, end - begin)));
      return base::failure(fmt::format("line {} is not a field: {}", number, base::printable_line(line)));
    }
    begin = end + 1;
  }
  if (config.lines_.empty()) return base::failure("it is empty");
  return config;
}

std::optional<std::string_view> ConfigText::value_of(std::string_view path) const {
  std::size_t indent = 0;  // of the fields of the section that is searched
  for (auto line = lines_.begin(); line != lines_.end() && line->indent >= indent; ++line) {
    const std::string_view key = key_of(*line);
    if (line->indent > indent || !path.starts_with(key)) continue;
    if (path == key) return value_in(*line);
    const auto below = std::next(line);
    if (path[key.size()] != '.' || below == lines_.end() || below->indent <= indent) continue;
    path.remove_prefix(key.size() + 1);
    indent = below->indent;
  }
  return std::nullopt;
}

std::string ConfigText::text_of(std::string_view path) const {
  const std::string_view value = value_of(path).value_or("");
  if (!value.starts_with('"')) return std::string(value);
  if (value.size() > 1 && value.ends_with('"') && value.find('\\') == std::string_view::npos) {
    return std::string(value.substr(1, value.size() - 2));
  }
  const json text = json::parse(value, nullptr, false);
  return text.is_string() ? text.get<std::string>() : std::string(value);
}

std::string ConfigText::hash() const {
  std::string text = "{";
  text.reserve(2 * text_.size());
  Path path;
  for (const Line& line : lines_) {
    text.append(path.move_to(key_of(line), line.indent), '}');
    if (text.back() != '{') text += ',';
    text.append("\"").append(key_of(line)).append("\":");
    if (line.value_size == 0) {
      path.enter(line.indent);
      text += '{';
    } else {
      text += value_json(path.text(), value_in(line));
    }
  }
  return base::hash_text(base::fnv1a(text.append(path.depth() + 1, '}')));
}

std::string config_hash_of(const std::string& run) {
  try {
    const auto config = ConfigText::read(FolderReader(run).read("config.yaml", config::YamlLimits::kBytes));
    return config ? config->hash() : "";
  } catch (const base::IoError&) {
    return "";
  }
}

}  // namespace esper::runs
