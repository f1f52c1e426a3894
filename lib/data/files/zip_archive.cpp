#include "data/files/zip_archive.h"

#include <fmt/core.h>
#include <zlib.h>

#include <set>

#include "data/files/inflate.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

// Layout: PKWARE's APPNOTE.TXT 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end).
namespace esper::data {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kDirectoryEnd = 0x06054b50;
constexpr std::int64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLongestComment = 65535;

// Little-endian numbers at checked places.
class Cursor {
 public:
  Cursor(std::span<const std::uint8_t> bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}
  void need(std::int64_t at, std::int64_t count) const {
    if (at < 0 || count > size() - at)
      fail_input(file_, at_byte(at), "the archive is truncated or has an offset beyond its end");
  }
  std::uint32_t u16(std::int64_t at) const {
    return bytes_[static_cast<std::size_t>(at)] | std::uint32_t{bytes_[static_cast<std::size_t>(at) + 1]} << 8;
  }
  std::uint32_t u32(std::int64_t at) const { return u16(at) | u16(at + 2) << 16; }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::span<const std::uint8_t> bytes_;
  const std::filesystem::path& file_;
};

std::int64_t find_end(const Cursor& cursor, const std::filesystem::path& file) {
  const auto last = cursor.size() - kEndSize;
  for (auto at = last; at >= 0 && at >= last - kLongestComment; --at) {
    if (cursor.u32(at) == kDirectoryEnd) return at;
  }
  fail_input(file, at_byte(0), "not a zip archive, or a truncated one: its directory is missing");
}

}  // namespace

std::vector<ZipMember> list_zip(std::span<const std::uint8_t> archive, const std::filesystem::path& file) {
  const Cursor cursor(archive, file);
  const auto end = find_end(cursor, file);
  const auto count = cursor.u16(end + 10);
  std::int64_t at = cursor.u32(end + 16);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    cursor.need(at, kEntrySize);
    if (cursor.u32(at) != kDirectoryEntry) fail_input(file, at_byte(at), "the archive's directory is damaged");
    const std::int64_t name_size = cursor.u16(at + 28), rest = cursor.u16(at + 30) + cursor.u16(at + 32);
    cursor.need(at + kEntrySize, name_size + rest);
    const auto* name = reinterpret_cast<const char*>(archive.data() + at + kEntrySize);
    members.push_back({std::string(name, static_cast<std::size_t>(name_size)), static_cast<int>(cursor.u16(at + 10)),
                       cursor.u32(at + 16), cursor.u32(at + 20), cursor.u32(at + 24), cursor.u32(at + 42)});
    const std::string& member = members.back().name;
    if (cursor.u16(at + 8) & 1) fail_input(file, at_byte(at), "member " + member + " is encrypted");
    if (!names.insert(member).second) {
      fail_input(file, at_byte(at), "member " + member + " occurs twice; write the archive with one of them");
    }
    at += kEntrySize + name_size + rest;
  }
  return members;
}

Bytes read_zip_member(std::span<const std::uint8_t> archive, const ZipMember& member, const ReadOptions& options,
                      const std::filesystem::path& file) {
  const Cursor cursor(archive, file);
  const auto at = member.header_offset;
  cursor.need(at, kLocalSize);
  if (cursor.u32(at) != kLocalHeader)
    fail_input(file, at_byte(at), "member " + member.name + " does not begin at the offset in the directory");
  const auto begin = at + kLocalSize + cursor.u16(at + 26) + cursor.u16(at + 28);
  cursor.need(begin, member.packed_size);
  // Sizes of 4 GiB and more (0xffffffff here) stand in an extension that is not read; they fail these checks.
  const auto most = member.method == 0 ? member.packed_size : most_unfolded(member.packed_size);
  if (member.size > most) {
    fail_input(file, at_byte(at),
               fmt::format("member {} claims {} bytes, more than it can hold", member.name, member.size));
  }
  require_memory(file, "member " + member.name, member.size, options);
  const auto packed = archive.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(member.packed_size));
  Bytes bytes;
  if (member.method == 8) {
    bytes = inflate_raw(packed, member.size, file, begin);
  } else if (member.method == 0 && member.size == member.packed_size) {
    bytes.assign(packed.begin(), packed.end());
  } else {
    fail_input(file, at_byte(at),
               fmt::format("member {} uses compression method {}; only stored and deflated are supported", member.name,
                           member.method));
  }
  if (crc32_z(0, bytes.data(), bytes.size()) != member.crc)
    fail_input(file, at_byte(begin), "member " + member.name + " fails its checksum");
  return bytes;
}

}  // namespace esper::data
