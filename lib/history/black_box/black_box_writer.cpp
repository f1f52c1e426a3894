#include "history/black_box/black_box_writer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "history/black_box/black_box.h"
#include "storage/checksum.h"

namespace esper::history {
namespace {

constexpr std::size_t kChecked = offsetof(BlackBoxRecord, kind);

BlackBoxRecord* record_at(const storage::MappedFile& file, std::uint64_t place) {
  return reinterpret_cast<BlackBoxRecord*>(file.bytes().data()) + 1 + place;
}

bool is_new(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

std::string_view BlackBoxRecord::text() const {
  const auto& text = of_event.text;
  return {text.data(), static_cast<std::size_t>(std::ranges::find(text, '\0') - text.begin())};
}

std::uint32_t black_box_check(const BlackBoxRecord& record) {
  const auto bytes = std::as_bytes(std::span(&record, 1)).subspan(kChecked);
  return storage::hash32(bytes, static_cast<std::uint32_t>(record.number));
}

BlackBoxRecord black_box_event(std::string_view text) {
  BlackBoxRecord record;
  record.kind = BlackBoxKind::kEvent;
  record.of_event = {};
  std::ranges::copy(text.substr(0, record.of_event.text.size()), record.of_event.text.begin());
  return record;
}

BlackBoxWriter::BlackBoxWriter(const std::string& run_folder)
    : file_(storage::Beneath(run_folder, storage::Owner::kAnyone), run_folder + "/" + kBlackBoxFile, kBlackBoxBytes),
      process_(static_cast<std::uint32_t>(::getpid())) {
  open();
}

// The pages are touched here, so that no step waits for one.
void BlackBoxWriter::open() {
  const auto bytes = file_.bytes();
  const auto found = parse_black_box(bytes);
  if (found && !found->records.empty()) {
    last_ = found->records.back().number;
    return;
  }
  if (file_.was_cleared()) replaced_ = "it had another size";
  if (!found && !is_new(bytes)) replaced_ = found.error();
  std::memset(bytes.data(), 0, bytes.size());
  const BlackBoxHeader header;
  std::memcpy(bytes.data(), &header, sizeof header);
}

void BlackBoxWriter::add(BlackBoxRecord record) noexcept {
  record.number = ++last_;
  record.process = process_;
  record.check = black_box_check(record);
  BlackBoxRecord& place = *record_at(file_, black_box_place(record.number));
  const std::atomic_ref<std::uint64_t> number(place.number);
  number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(reinterpret_cast<std::byte*>(&place) + sizeof place.number,
              reinterpret_cast<const std::byte*>(&record) + sizeof record.number, sizeof record - sizeof record.number);
  number.store(record.number, std::memory_order_release);
}

}  // namespace esper::history
