#include "config/entries/slot_alpha.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/names.h"
#include "base/parse_number.h"
#include "base/text/printable.h"
#include "leyline/slot_id.h"

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

base::Expected<SlotAlpha> SlotAlpha::parse(std::string_view text) {
  const auto parts = parts_of(text);
  if (!parts) {
    return base::failure(in_quotes(text) + " is not slot=curve,epochs,target, like r0c1=cosine,8,0.7");
  }
  const auto wrong = [&](std::string_view part, const std::string& what) {
    return base::failure(
        fmt::format("in {}, {} is not a {}; write it like r0c1=cosine,8,0.7", in_quotes(text), in_quotes(part), what));
  };
  if (!leyline::is_slot_id(parts->slot)) return wrong(parts->slot, "slot");
  const auto curve = from_name<AlphaCurve>(parts->curve);
  if (!curve) return wrong(parts->curve, fmt::format("curve ({})", base::all_names<AlphaCurve>()));
  const auto ticks = base::parse_number<int>(parts->ticks);
  if (!ticks || *ticks < 1 || *ticks > kMostTicks) {
    return wrong(parts->ticks, fmt::format("number of epochs, 1 to {}", kMostTicks));
  }
  const auto target = base::parse_number<double>(parts->target);
  const bool in_range = target && *target >= kLeastTarget && *target <= 1;
  if (!in_range) return wrong(parts->target, fmt::format("target, {} to 1", kLeastTarget));
  return SlotAlpha{std::string(parts->slot), *curve, *ticks, *target};
}

}  // namespace esper::config
