#pragma once
// The figures of a run's epochs, from its telemetry. Any thread; safe while the run writes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace esper::history {

struct EpochColumn {
  enum class Kind { kCount, kFigure, kRate, kSeconds };
  std::string_view name;    // "validation_loss"
  std::string_view metric;  // that it is taken from
  Kind kind = Kind::kFigure;
};
inline constexpr std::size_t kNumEpochColumns = 16;
const std::array<EpochColumn, kNumEpochColumns>& epoch_columns();

struct EpochFigures {
  std::uint32_t epoch = 0;                                       // from 1
  std::array<std::optional<double>, kNumEpochColumns> values{};  // of the columns; counts are whole
};

struct EpochHistory {
  std::vector<EpochFigures> epochs;  // ascending, each once
  std::size_t damaged_lines = 0;
  std::vector<std::string> gaps;  // what could not be read, as text

  bool has(std::size_t column) const;  // any of the epochs
};

// An epoch that was trained again has its later figures; those that a run discarded when it was resumed from an earlier
// checkpoint are left out. Needs memory for one line of telemetry at a time, and for 100,000 epochs at most; later ones
// are ignored and reported in the gaps. Throws base::Error{kData} where there is no telemetry, or a file of it cannot
// be read.
EpochHistory read_epoch_history(const std::filesystem::path& run);

}  // namespace esper::history
