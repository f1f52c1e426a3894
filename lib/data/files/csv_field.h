#pragma once
// Fields of comma-separated text as values. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace esper::data {

// Without spaces and tabs around it.
std::string_view trimmed(std::string_view text);

// A decimal number with a point, or nan or inf; nothing for anything else.
std::optional<double> number_of(std::string_view text);

// Of a line's only field: that it holds other separators than commas; empty where it holds none.
std::string hint_of_separator(std::string_view field);

// Upper bounds of what a text holds, since quoted fields may hold commas and line ends.
struct CsvSize {
  std::int64_t commas = 0, lines = 1;
};
CsvSize csv_size(std::string_view text);

}  // namespace esper::data
