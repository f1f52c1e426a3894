#include "config/slot_alpha.h"

#include <algorithm>
#include <charconv>

#include "base/names.h"
#include "base/text/printable.h"
#include "config/slot_classes.h"

namespace esper::config {

using base::from_name;
using base::in_quotes;

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

struct Parts {
  std::string_view slot, curve, ticks, target;
};

// Nothing where it is not slot=curve,epochs,target.
std::optional<Parts> parts_of(std::string_view text) {
  if (text.find('=') == std::string_view::npos || std::count(text.begin(), text.end(), ',') != 2) return std::nullopt;
  Parts parts;
  parts.slot = cut(text, '=');
  parts.curve = cut(text, ',');
  parts.ticks = cut(text, ',');
  parts.target = text;
  return parts;
}

}  // namespace

std::optional<SlotAlpha> read_slot_alpha(std::string_view text) {
  if (!slot_alpha_problem(text).empty()) return std::nullopt;
  const auto parts = parts_of(text);
  SlotAlpha read;
  read.slot = parts->slot;
  read.curve = *from_name<AlphaCurve>(parts->curve);
  read.ticks = *number_of<int>(parts->ticks);
  read.target = *number_of<double>(parts->target);
  return read;
}

std::string slot_alpha_problem(std::string_view text) {
  const auto parts = parts_of(text);
  if (!parts) return in_quotes(text) + " is not slot=curve,epochs,target, like r0c1=cosine,8,0.7";
  const auto wrong = [&](std::string_view part, const std::string& what) {
    return "in " + in_quotes(text) + ", " + in_quotes(part) + " is no " + what + "; write it like r0c1=cosine,8,0.7";
  };
  if (!is_slot_id(parts->slot)) return wrong(parts->slot, "slot");
  if (!from_name<AlphaCurve>(parts->curve)) return wrong(parts->curve, "curve (linear, cosine, sigmoid)");
  const auto ticks = number_of<int>(parts->ticks);
  if (!ticks || *ticks < 1 || *ticks > SlotAlpha::kMostTicks) {
    return wrong(parts->ticks, "number of epochs, 1 to " + std::to_string(SlotAlpha::kMostTicks));
  }
  const auto target = number_of<double>(parts->target);
  const bool in_range = target && *target >= SlotAlpha::kLeastTarget && *target <= 1;
  return in_range ? std::string() : wrong(parts->target, "target, 0.05 to 1");
}

}  // namespace esper::config
