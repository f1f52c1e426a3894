#include "tolaria/growth/graft_room.h"

#include <fmt/core.h>

namespace esper::tolaria {

std::string lack_of_memory(std::int64_t elements, const base::MemoryRoom& room) {
  const std::int64_t need = elements * kBytesPerElement;
  const std::int64_t usable = room.bytes / 8 * 7;
  if (need <= usable) return {};
  return fmt::format("{} parameters more need about {}, and {} can be used ({})", elements, base::mebibytes(need),
                     base::mebibytes(usable), room.limit);
}

std::string lack_of_disk(std::uint64_t state_bytes, std::int64_t elements, std::uint64_t room) {
  const std::uint64_t need = state_bytes + static_cast<std::uint64_t>(elements * kSavedBytesPerElement);
  if (need <= room) return {};
  return fmt::format("a checkpoint with {} parameters more takes about {} KiB, and the disk has {} KiB", elements,
                     need >> 10, room >> 10);
}

}  // namespace esper::tolaria
