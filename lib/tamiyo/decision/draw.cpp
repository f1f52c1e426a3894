#include "tamiyo/decision/draw.h"

#include <cmath>

#include "base/hash.h"

namespace esper::tamiyo {

using base::fnv1a;
using base::mix64;

Draw::Draw(std::uint64_t seed, std::uint32_t epoch, double temperature)
    : key_(mix64(mix64(mix64(seed) ^ fnv1a("tamiyo.decision")) ^ epoch)), temperature_(temperature) {}

double Draw::noise(std::string_view name) const {
  if (temperature_ == 0) return 0;
  constexpr int kSpareBits = 64 - 52;  // half a step more is exact in a double: never 0 or 1
  const double uniform = (static_cast<double>(mix64(key_ ^ fnv1a(name)) >> kSpareBits) + 0.5) * 0x1p-52;
  return temperature_ * -std::log(-std::log(uniform));
}

}  // namespace esper::tamiyo
