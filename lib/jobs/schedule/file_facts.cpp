#include "jobs/schedule/file_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/file_system.h"
#include "storage/folder_walk.h"

namespace esper::jobs {
namespace {

// Of a text, from whose characters the vocabulary is counted: rare ones behind it are missed.
constexpr std::size_t kMostTextRead = 2u << 20;
constexpr std::size_t kMostLineRead = 1u << 20;
constexpr storage::WalkLimits kWalk{.depth = 4, .entries = 20'000};

std::int64_t file_bytes(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) < 0) return 0;
  if (S_ISREG(status.st_mode)) return status.st_size;
  if (!S_ISDIR(status.st_mode)) return 0;
  try {
    return static_cast<std::int64_t>(storage::bytes_of(storage::walk_folder(path, kWalk)));
  } catch (const base::IoError&) {
    return 0;
  }
}

// Empty where it is no regular file: the user named the path, and a FIFO would keep the loop's thread waiting.
std::string beginning_of(const std::string& path, std::size_t most) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) < 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(std::min(most, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto got = ::read(file.number(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

// Code points of UTF-8, whole ones.
std::int64_t characters_in(const std::string& text) {
  std::vector<bool> seen(0x110000);
  std::int64_t count = 0;
  std::uint32_t point = 0;
  const auto note = [&] {
    if (point < seen.size() && !seen[point]) seen[point] = true, ++count;
  };
  bool any = false;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if ((value & 0xc0) == 0x80) {
      point = point << 6 | (value & 0x3f);
      continue;
    }
    if (std::exchange(any, true)) note();
    point = value < 0x80 ? value : value & (value < 0xe0 ? 0x1f : value < 0xf0 ? 0x0f : 0x07);
  }
  if (any) note();
  return count;
}

std::int64_t count_characters(const std::string& path) { return characters_in(beginning_of(path, kMostTextRead)); }

std::int64_t count_commas(const std::string& path) {
  const auto text = beginning_of(path, kMostLineRead);
  return std::ranges::count(text.substr(0, text.find('\n')), ',');
}

}  // namespace

std::int64_t FileFacts::bytes_of(const std::string& path) { return known_or_read(bytes_, path, file_bytes); }
std::int64_t FileFacts::characters_of(const std::string& path) {
  return known_or_read(characters_, path, count_characters);
}
std::int64_t FileFacts::commas_of(const std::string& path) { return known_or_read(commas_, path, count_commas); }

std::int64_t FileFacts::known_or_read(ByPath& known, const std::string& path,
                                      std::int64_t (*read)(const std::string&)) {
  if (path.empty()) return 0;
  if (const auto found = known.find(path); found != known.end()) return found->second;
  if (clock_.now() >= deadline_) {
    ++num_unread_;
    return 0;
  }
  return known[path] = read(path);
}

}  // namespace esper::jobs
