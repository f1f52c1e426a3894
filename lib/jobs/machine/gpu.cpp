#include "jobs/machine/gpu.h"

#include <algorithm>

#include "base/text/digits_only.h"

namespace esper::jobs {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool names_gpu(std::string_view entry, const Gpu& gpu) {
  if (base::digits_only(entry)) return entry == std::to_string(gpu.index);
  return entry.starts_with("GPU-") && gpu.uuid.starts_with(entry);
}

}  // namespace

std::vector<Gpu> visible_gpus(const std::vector<Gpu>& gpus, std::string_view list) {
  std::vector<Gpu> visible;
  while (true) {
    const auto comma = list.find(',');
    const auto entry = without_blanks(list.substr(0, comma));
    const auto found = std::ranges::find_if(gpus, [&](const Gpu& gpu) { return names_gpu(entry, gpu); });
    if (found == gpus.end() || std::ranges::find(visible, found->index, &Gpu::index) != visible.end()) return visible;
    visible.push_back(*found);
    if (comma == list.npos) return visible;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace esper::jobs
