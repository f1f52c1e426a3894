#include "leyline/slot_id.h"

#include <fmt/core.h>

#include "base/text/digits_only.h"

namespace esper::leyline {

using base::digits_only;

std::string slot_id_of(std::size_t column) { return fmt::format("r0c{}", column); }

bool is_slot_id(std::string_view text) {
  const std::size_t c = text.find('c');
  return text.starts_with('r') && c != std::string_view::npos && digits_only(text.substr(1, c - 1)) &&
         digits_only(text.substr(c + 1));
}

}  // namespace esper::leyline
