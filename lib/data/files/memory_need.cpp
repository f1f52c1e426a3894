#include "data/files/memory_need.h"

#include "base/error.h"

namespace esper::data {

base::MemoryRoom usable_memory(const ReadOptions& options) {
  if (options.max_bytes > 0) return {options.max_bytes, options.limit.empty() ? "the limit given" : options.limit};
  auto room = base::memory_room(base::system_memory());
  room.bytes -= room.bytes / 8;
  return room;
}

void fail_memory(const std::filesystem::path& file, const std::string& what, const std::string& need,
                 const base::MemoryRoom& usable, const std::string& way_out) {
  throw base::Error(base::ExitCode::kResources, file.string() + ": " + what + " would take " + need +
                                                    " of memory, and " + base::mebibytes(usable.bytes) +
                                                    " may be used (" + usable.limit + "); " + way_out +
                                                    ", or give the process more memory");
}

void require_memory(const std::filesystem::path& file, const std::string& what, std::int64_t bytes,
                    const ReadOptions& options, const std::string& way_out) {
  const auto usable = usable_memory(options);
  if (bytes > usable.bytes) fail_memory(file, what, base::mebibytes(bytes), usable, way_out);
}

}  // namespace esper::data
