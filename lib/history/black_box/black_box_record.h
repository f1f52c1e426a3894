#pragma once
// What a run's black box holds: one record for each of the last steps, events and epoch ends. Plain data, with the
// layout that the file has: fixed width, little-endian. Any thread.

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace esper::history {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

enum class BlackBoxKind : std::uint16_t { kStep = 1, kEpochEnd = 2, kEvent = 3 };

// Bits of BlackBoxRecord::flags.
inline constexpr std::uint16_t kHasFigures = 1;  // loss and gradient norm are known
inline constexpr std::uint16_t kHasRng = 2;      // so is the random number generator's position
inline constexpr std::uint16_t kPassedOver = 4;  // the step was not trained

// Of a step, or the means of an epoch that ended.
struct BlackBoxStep {
  std::int64_t duration_ns = 0;
  std::int64_t first_batch = 0;   // of the epoch's microbatches, from 0
  std::int32_t microbatches = 0;  // of a step; 0 at an epoch's end
  std::uint32_t lane = 0;         // config::Lane
  std::int64_t samples = 0;       // inputs of the step, or of the epoch
  double loss = 0;                // mean over target elements
  double gradient_norm = 0;       // global L2 norm before clipping
  double learning_rate = 0;       // the run's, lowered if it was
  std::uint64_t bits = 0;         // equal for lanes that compute the same bits
  std::uint64_t rng = 0;          // equal for equal positions of the CPU's generator before the step
  std::array<char, 80> unused{};
};

struct BlackBoxEvent {
  std::array<char, 152> text;  // "name key=value ..."; cut off where it is longer, else followed by zeros
};

struct BlackBoxRecord {
  std::uint64_t number = 0;  // of all records of the run, from 1; 0: none, or one that is being written
  std::uint32_t check = 0;   // black_box_check()
  BlackBoxKind kind = BlackBoxKind::kEvent;
  std::uint16_t flags = 0;
  std::int64_t step = 0;     // of the run, from 0
  std::int64_t wall_ns = 0;  // since the UNIX epoch: when the step ended
  std::uint32_t epoch = 0;   // from 1
  std::uint32_t process = 0;
  union {
    BlackBoxStep of_step{};  // kStep, kEpochEnd
    BlackBoxEvent of_event;  // kEvent
  };

  bool has(std::uint16_t flag) const { return (flags & flag) != 0; }
  std::string_view text() const;  // of an event
};
static_assert(sizeof(BlackBoxRecord) == 192 && std::is_trivially_copyable_v<BlackBoxRecord>);

// The file begins with one of these, in the place of a record.
struct BlackBoxHeader {
  std::array<char, 8> magic{'E', 'S', 'P', 'B', 'B', 'O', 'X', '\n'};
  std::uint32_t version = 1;
  std::uint32_t record_bytes = sizeof(BlackBoxRecord);
  std::uint32_t capacity = 512;  // records
  std::array<char, 172> unused{};
  bool operator==(const BlackBoxHeader&) const = default;
};
static_assert(sizeof(BlackBoxHeader) == sizeof(BlackBoxRecord));

// Name inside a run folder.
inline constexpr char kBlackBoxFile[] = "blackbox";
inline constexpr std::uint64_t kBlackBoxCapacity = BlackBoxHeader{}.capacity;
inline constexpr std::uint64_t kBlackBoxBytes = (kBlackBoxCapacity + 1) * sizeof(BlackBoxRecord);

// Of all but the number and the checksum itself, with the number as seed.
std::uint32_t black_box_check(const BlackBoxRecord& record);
// Its place among the records of the file.
inline std::uint64_t black_box_place(std::uint64_t number) { return (number - 1) % kBlackBoxCapacity; }

}  // namespace esper::history
