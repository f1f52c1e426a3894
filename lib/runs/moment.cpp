#include "runs/moment.h"

#include <fmt/core.h>
#include <time.h>

#include <charconv>
#include <chrono>

#include "base/quantity.h"
#include "base/text/digits_only.h"

namespace esper::runs {
namespace {

constexpr std::int64_t kMsPerSecond = 1000, kHoursPerDay = 24, kDaysPerWeek = 7;
constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";

bool has_form(std::string_view text) {
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !is_digit : text[i] != kForm[i]) return false;
  }
  return true;
}

int digits_at(std::string_view text, std::size_t from, std::size_t count) {
  int number = 0;
  std::from_chars(text.data() + from, text.data() + from + count, number);
  return number;
}

// Of ".123456Z" and "Z".
std::optional<std::int64_t> fraction_ms(std::string_view text) {
  if (!text.ends_with('Z')) return std::nullopt;
  text.remove_suffix(1);
  if (text.empty()) return 0;
  if (!text.starts_with('.') || !base::digits_only(text.substr(1))) return std::nullopt;
  std::string digits(text.substr(1, 3));
  digits.append(3 - digits.size(), '0');
  return digits_at(digits, 0, 3);
}

}  // namespace

std::optional<std::int64_t> milliseconds_of(std::string_view text) {
  if (text.size() <= kForm.size() || !has_form(text)) return std::nullopt;
  const auto fraction = fraction_ms(text.substr(kForm.size()));
  if (!fraction) return std::nullopt;
  std::tm utc{};
  utc.tm_year = digits_at(text, 0, 4) - 1900;
  utc.tm_mon = digits_at(text, 5, 2) - 1;
  utc.tm_mday = digits_at(text, 8, 2);
  utc.tm_hour = digits_at(text, 11, 2);
  utc.tm_min = digits_at(text, 14, 2);
  utc.tm_sec = digits_at(text, 17, 2);
  return ::timegm(&utc) * kMsPerSecond + *fraction;
}

std::string moment_text(std::int64_t ms) {
  const std::time_t seconds = ms / kMsPerSecond;
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "?";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::optional<std::int64_t> parse_age(std::string_view text) {
  using std::chrono::duration_cast;
  const bool is_days = text.ends_with('d'), is_weeks = text.ends_with('w');
  const std::string hours = std::string(text.substr(0, text.empty() ? 0 : text.size() - 1)) + "h";
  const auto length = base::parse_duration(is_days || is_weeks ? hours : text);
  if (!length) return std::nullopt;
  const std::int64_t times = is_days ? kHoursPerDay : is_weeks ? kHoursPerDay * kDaysPerWeek : 1;
  return duration_cast<std::chrono::milliseconds>(*length).count() * times;
}

}  // namespace esper::runs
