#include "data/files/csv_field.h"

#include <utility>

#include "base/parse_number.h"

namespace esper::data {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<double> number_of(std::string_view text) { return base::parse_number<double>(trimmed(text)); }

std::string hint_of_separator(std::string_view field) {
  for (const auto& [separator, name] :
       {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}, std::pair{'|', "bars"}}) {
    if (field.find(separator) == field.npos) continue;
    return std::string("; the line holds ").append(name).append(": convert the file, fields are separated by commas");
  }
  return "";
}

CsvSize csv_size(std::string_view text) {
  CsvSize size;
  for (std::size_t i = 0; i < text.size(); ++i) {
    size.commas += text[i] == ',';
    size.lines += text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n");
  }
  return size;
}

}  // namespace esper::data
