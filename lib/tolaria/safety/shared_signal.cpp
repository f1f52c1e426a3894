#include "tolaria/safety/shared_signal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace esper::tolaria {
namespace {

constexpr std::size_t kLevelAt = 1, kEmergencyTimeAt = 2, kLengthAt = 10, kReasonAt = 11, kRollbackTimeAt = 8;
constexpr std::size_t kLongestReason = 53;

std::string failure_text(const std::string& name, const char* operation) {
  return fmt::format("shared memory {}: cannot {}: {}; the run continues without it", name, operation,
                     std::generic_category().message(errno));
}

void put_time(std::span<std::byte> bytes, std::size_t at, base::Duration monotonic) {
  auto ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(monotonic).count());
  for (std::size_t i = 0; i < sizeof ms; ++i, ms >>= 8U) bytes[at + i] = static_cast<std::byte>(ms & 0xFFU);
}

// Not within a character of UTF-8.
std::string_view cut(std::string_view text) {
  std::size_t end = std::min(text.size(), kLongestReason);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

base::Expected<SharedSignal> SharedSignal::open(const std::string& name, std::size_t bytes) {
  base::Descriptor file(shm_open(("/" + name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) return base::failure(failure_text(name, "open it"));
  struct stat status{};
  if (fstat(file.number(), &status) != 0 || status.st_uid != geteuid()) {
    errno = EPERM;
    return base::failure(failure_text(name, "use another user's"));
  }
  const bool is_of_others = status.st_size != 0 && static_cast<std::size_t>(status.st_size) != bytes;
  if (is_of_others || flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    errno = EBUSY;
    return base::failure(failure_text(name, "use what another program uses"));
  }
  errno = posix_fallocate(file.number(), 0, static_cast<off_t>(bytes));
  if (errno != 0) return base::failure(failure_text(name, "size it"));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) return base::failure(failure_text(name, "map it"));
  SharedSignal signal(name, std::move(file), {static_cast<std::byte*>(memory), bytes});
  signal.clear();
  return signal;
}

SharedSignal::SharedSignal(SharedSignal&& other) noexcept
    : name_(std::move(other.name_)), file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedSignal::~SharedSignal() {
  if (bytes_.empty()) return;
  if (bytes_.front() == std::byte{0}) shm_unlink(("/" + name_).c_str());
  munmap(bytes_.data(), bytes_.size());
}

void SharedSignal::publish() {
  std::atomic_ref(reinterpret_cast<std::uint8_t&>(bytes_.front())).store(1, std::memory_order_release);
}

void SharedSignal::show_emergency(std::uint8_t level, base::Duration monotonic, std::string_view reason) {
  clear();
  const std::string_view text = cut(reason);
  bytes_[kLevelAt] = std::byte{level};
  put_time(bytes_, kEmergencyTimeAt, monotonic);
  bytes_[kLengthAt] = static_cast<std::byte>(text.size());
  std::memcpy(bytes_.data() + kReasonAt, text.data(), text.size());
  publish();
}

void SharedSignal::show_rollback(base::Duration monotonic) {
  clear();
  put_time(bytes_, kRollbackTimeAt, monotonic);
  publish();
}

void SharedSignal::clear() {
  std::atomic_ref(reinterpret_cast<std::uint8_t&>(bytes_.front())).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // nothing of what follows is seen before the flag is gone
  std::ranges::fill(bytes_.subspan(1), std::byte{0});
}

}  // namespace esper::tolaria
