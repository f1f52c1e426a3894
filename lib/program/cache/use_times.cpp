#include "program/cache/use_times.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "storage/bytes.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

constexpr std::uint64_t kMaxUseTimeBytes = 1u << 20;

}  // namespace

// Not synced: losing it costs nothing.
void UseTimes::touch(const std::string& key) {
  try {
    const std::string path = path_of(key);
    const std::string temporary = fmt::format("{}-{}.tmp-{}", path, ++touches_, ::getpid());
    auto file = files_.open(temporary, base::OpenMode::kReplace);
    file.write(storage::bytes_of(std::to_string(clock_.wall().count())));
    file.close();
    files_.rename(temporary, path);
  } catch (const base::IoError&) {
  }
}

std::int64_t UseTimes::last_use(const std::string& key) {
  std::int64_t time = 0;
  try {
    const auto contents = storage::read_file(files_, path_of(key), kMaxUseTimeBytes);
    const auto text = storage::text_of(contents);
    std::from_chars(text.data(), text.data() + text.size(), time);
  } catch (const base::IoError&) {
  }
  return std::min<std::int64_t>(time, clock_.wall().count());
}

void UseTimes::forget(const std::string& key) { storage::remove_all(files_, path_of(key)); }

}  // namespace esper::program
