#include "leyline/config/slot_alpha.h"

#include <charconv>

#include "leyline/names.h"

namespace esper::leyline {
namespace {

// What comes before the mark, which is taken off with it; all of the text where there is none.
std::string_view cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<SlotAlpha> read_slot_alpha(std::string_view text) {
  if (text.find('=') == std::string_view::npos || text.ends_with(',')) return std::nullopt;
  SlotAlpha read;
  read.slot = cut(text, '=');
  const auto curve = from_name<AlphaCurve>(cut(text, ','));
  const auto ticks = number_of<int>(cut(text, ','));
  const auto target = number_of<double>(text);
  if (read.slot.empty() || !curve || !ticks || !target) return std::nullopt;
  const bool in_range =
      *ticks >= 1 && *ticks <= SlotAlpha::kMostTicks && *target >= SlotAlpha::kLeastTarget && *target <= 1;
  if (!in_range) return std::nullopt;
  read.curve = *curve;
  read.ticks = *ticks;
  read.target = *target;
  return read;
}

}  // namespace esper::leyline
