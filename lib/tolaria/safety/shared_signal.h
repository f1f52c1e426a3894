#pragma once
// A few bytes of shared memory (shm_open) by which other processes on the machine see a run's emergency level, in the
// layouts of reference 1.11 and 1.12, little-endian:
//   emergency, 64 bytes: flag u8, level u8, time u64 (monotonic ms), length of the reason u8, the reason (53 bytes of
//                        UTF-8 at most)
//   rollback, 16 bytes:  flag u8, 7 bytes of 0, time u64 (monotonic ms)
// The flag is written last: where it is 1, the rest is whole. One that no process uses any more is removed with the run
// that ends well. Training thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/expected.h"
#include "base/quantity.h"

namespace esper::tolaria {

inline constexpr std::size_t kEmergencySignalBytes = 64, kRollbackSignalBytes = 16;

class SharedSignal {
 public:
  // Makes it, or takes over the one that an earlier process of this user left; it shows nothing. Fails with the reason
  // as text: it has another size, or another process uses it, too.
  static base::Expected<SharedSignal> open(const std::string& name, std::size_t bytes);
  SharedSignal(SharedSignal&& other) noexcept;
  SharedSignal& operator=(SharedSignal&&) = delete;
  ~SharedSignal();

  void show_emergency(std::uint8_t level, base::Duration monotonic, std::string_view reason);
  void show_rollback(base::Duration monotonic);
  void clear();

 private:
  SharedSignal(std::string name, base::Descriptor file, std::span<std::byte> bytes)
      : name_(std::move(name)), file_(std::move(file)), bytes_(bytes) {}
  void publish();

  std::string name_;
  base::Descriptor file_;       // with the lock that other runs respect
  std::span<std::byte> bytes_;  // the mapping
};

}  // namespace esper::tolaria
