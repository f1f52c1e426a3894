#include "sweep/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "config/fields/field_text.h"

namespace esper::sweep {

using base::fnv1a;
using base::mix64;

namespace {

using Numbers = Range::Numbers;
using Scale = Range::Scale;

constexpr int kDigitsOfFraction = 53;

// From 0 to below 1.
double fraction(std::uint64_t bits) { return std::ldexp(static_cast<double>(bits >> 11), -kDigitsOfFraction); }

std::uint64_t size_of(const Range& range) { return static_cast<std::uint64_t>(range.max - range.min) + 1; }

// From `low` to below `high`. fma, since compilers fuse a product and a sum on some machines.
double between(double low, double high, Scale scale, double share) {
  return scale == Scale::kLog ? low * power(high / low, share) : std::fma(share, high - low, low);
}

std::string whole_text(const Range& range, double share) {
  const double drawn = std::floor(between(range.min, range.max + 1, range.scale, share));
  return fmt::format("{:.0f}", std::clamp(drawn, range.min, range.max));
}

std::string real_text(const Range& range, double share) {
  const std::string text = fmt::format("{:.6g}", between(range.min, range.max, range.scale, share));
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  if (rounded < range.min) return config::number_text(range.min);
  if (rounded > range.max) return config::number_text(range.max);
  return text;
}

}  // namespace

double power(double base, double exponent) {
  double result = 1, root = base;
  for (int digit = 0; digit < kDigitsOfFraction && exponent > 0; ++digit) {
    if (exponent >= 1) {
      result *= root;
      exponent -= 1;
    }
    exponent *= 2;
    root = std::sqrt(root);
  }
  return result;
}

std::string draw_value(const Parameter& parameter, std::uint64_t seed, std::uint64_t counter) {
  const std::uint64_t bits = mix64(mix64(mix64(seed) ^ fnv1a(parameter.key)) ^ mix64(counter));
  const double share = fraction(bits);
  if (parameter.range) {
    return parameter.range->numbers == Numbers::kWhole ? whole_text(*parameter.range, share)
                                                       : real_text(*parameter.range, share);
  }
  ESPER_CHECK(!parameter.values.empty(), "a parameter without values");
  const auto count = static_cast<double>(parameter.values.size());
  return parameter.values.at(std::min(static_cast<std::size_t>(share * count), parameter.values.size() - 1));
}

std::optional<std::uint64_t> num_values(const Parameter& parameter) {
  if (!parameter.range) return parameter.values.size();
  if (parameter.range->numbers == Numbers::kReal) return std::nullopt;
  return size_of(*parameter.range);
}

std::string value_at(const Parameter& parameter, std::uint64_t index) {
  if (!parameter.range) return parameter.values.at(index);
  return fmt::format("{:.0f}", parameter.range->min + static_cast<double>(index));
}

}  // namespace esper::sweep
