#include "leyline/seed_id.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace esper::leyline {

std::string seed_id_of(std::uint32_t number) { return fmt::format("seed-{:04}", number); }

std::uint32_t number_of_seed(const std::string& seed_id) {
  constexpr std::string_view kBefore = "seed-";
  if (!seed_id.starts_with(kBefore)) return 0;
  std::uint32_t number = 0;
  std::from_chars(seed_id.data() + kBefore.size(), seed_id.data() + seed_id.size(), number);
  return seed_id_of(number) == seed_id ? number : 0;
}

}  // namespace esper::leyline
