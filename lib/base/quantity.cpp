#include "base/quantity.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace esper::base {
namespace {

// From the largest to the smallest, so that the first unit that divides is the one to print.
constexpr std::array kUnits{std::pair{std::string_view("h"), std::int64_t{3'600'000'000'000}},
                            std::pair{std::string_view("m"), std::int64_t{60'000'000'000}},
                            std::pair{std::string_view("s"), std::int64_t{1'000'000'000}},
                            std::pair{std::string_view("ms"), std::int64_t{1'000'000}},
                            std::pair{std::string_view("us"), std::int64_t{1'000}},
                            std::pair{std::string_view("ns"), std::int64_t{1}}};

bool starts_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  if (!starts_with_digit(text)) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size() - end);
  for (const auto& [name, nanoseconds] : kUnits) {
    if (unit != name) continue;
    const double total = std::round(value * static_cast<double>(nanoseconds));
    if (total >= 9.2e18) return std::nullopt;
    return Duration(static_cast<std::int64_t>(total));
  }
  return std::nullopt;
}

std::string to_string(Duration duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  for (const auto& [name, nanoseconds] : kUnits) {
    if (count % nanoseconds == 0) return fmt::format("{}{}", count / nanoseconds, name);
  }
  return fmt::format("{}ns", count);
}

std::optional<Length> parse_length(std::string_view text) {
  if (text == "epoch") return Length{1, Length::Unit::kEpochs};
  if (text == "step") return Length{1, Length::Unit::kSteps};
  if (text == "0") return Length{0, Length::Unit::kSteps};  // in whatever unit
  if (!starts_with_digit(text)) return std::nullopt;
  Length length;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length.count);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit(end, text.data() + text.size() - end);
  const std::size_t blanks = unit.find_first_not_of(' ');
  if (blanks == 0 || blanks == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(blanks);
  if (unit == "epoch" || unit == "epochs") {
    length.unit = Length::Unit::kEpochs;
  } else if (unit == "step" || unit == "steps") {
    length.unit = Length::Unit::kSteps;
  } else {
    return std::nullopt;
  }
  return length;
}

std::string to_string(const Length& length) {
  const std::string unit = length.unit == Length::Unit::kEpochs ? "epoch" : "step";
  return fmt::format("{} {}{}", length.count, unit, length.count == 1 ? "" : "s");
}

}  // namespace esper::base
