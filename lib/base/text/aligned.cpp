#include "base/text/aligned.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/text/utf8.h"

namespace esper::base {
namespace {

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (; !text.empty(); ++width) text.remove_prefix(static_cast<std::size_t>(std::abs(utf8_length(text))));
  return width;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  if (lines.empty()) return {};
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  std::string text;
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += cells[i];
      if (i + 1 < cells.size()) text.append(widths[i] + 2 - width_of(cells[i]), ' ');
    }
    text += "\n";
  }
  return text;
}

}  // namespace esper::base
