#include "tolaria/growth/graft_memory.h"

#include <fmt/core.h>

namespace esper::tolaria {

std::string lack_of_memory(std::int64_t elements, const base::MemoryRoom& room) {
  const std::int64_t need = elements * kBytesPerElement;
  const std::int64_t usable = room.bytes / 8 * 7;
  if (need <= usable) return {};
  return fmt::format("{} parameters more need about {}, and {} can be used ({})", elements, base::mebibytes(need),
                     base::mebibytes(usable), room.limit);
}

}  // namespace esper::tolaria
