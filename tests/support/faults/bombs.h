#pragma once
// Small packed files that unfold to much: a piece of a mebibyte, packed once and repeated.

#include <zlib.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace esper::test {

class Bomb {
 public:
  // `text` is repeated until it fills the piece.
  explicit Bomb(const std::string& text) {
    while (piece_.size() + text.size() <= kPiece) piece_ += text;
  }

  // `count` pieces, as so many members of a gzip file.
  std::string gzip(int count) const {
    const std::string member = packed(piece_, kGzipWindow, Z_FINISH);
    std::string file;
    for (int i = 0; i < count; ++i) file += member;
    return file;
  }

  // `begin` and `count` pieces as the one member of a zip archive's middle; write_zip() puts it together.
  struct Member {
    std::string name, stream;
    std::uint32_t crc = 0;
    std::uint32_t size = 0;
  };
  Member member(const std::string& name, const std::string& begin, int count) const {
    Member out{name, packed(begin, kRawWindow, Z_FULL_FLUSH), checksum(begin),
               static_cast<std::uint32_t>(begin.size())};
    const std::string block = packed(piece_, kRawWindow, Z_FULL_FLUSH);  // refers to nothing before it
    const auto length = static_cast<z_off_t>(piece_.size());
    for (int i = 0; i < count; ++i) {
      out.stream += block;
      out.crc = static_cast<std::uint32_t>(crc32_combine(out.crc, checksum(piece_), length));
      out.size += static_cast<std::uint32_t>(piece_.size());
    }
    out.stream += std::string("\x03\x00", 2);  // an empty last block
    return out;
  }

  std::size_t piece_size() const { return piece_.size(); }

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  static constexpr int kGzipWindow = 15 + 16, kRawWindow = -15;

  static std::uint32_t checksum(const std::string& text) {
    return static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  }
  static std::string packed(const std::string& text, int window, int flush) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, text.size()) + 32, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, flush) == Z_STREAM_ERROR || stream.avail_in != 0) throw std::logic_error("deflate");
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  std::string piece_;
};

// A zip archive of deflated members (PKWARE's APPNOTE.TXT 4.3).
inline std::string zip_of(const std::vector<Bomb::Member>& members) {
  const auto u16 = [](std::uint32_t v) { return std::string{static_cast<char>(v), static_cast<char>(v >> 8)}; };
  const auto u32 = [&](std::uint32_t v) { return u16(v & 0xffff) + u16(v >> 16); };
  std::string file, directory;
  for (const auto& m : members) {
    const auto sizes = u32(m.crc) + u32(static_cast<std::uint32_t>(m.stream.size())) + u32(m.size) +
                       u16(static_cast<std::uint32_t>(m.name.size())) + u16(0);
    const auto common = u16(20) + u16(0) + u16(8) + u32(0) + sizes;
    directory += u32(0x02014b50) + u16(20) + common + u16(0) + u16(0) + u16(0) + u32(0) +
                 u32(static_cast<std::uint32_t>(file.size())) + m.name;
    file += u32(0x04034b50) + common + m.name + m.stream;
  }
  const auto count = static_cast<std::uint32_t>(members.size());
  return file + directory + u32(0x06054b50) + u16(0) + u16(0) + u16(count) + u16(count) +
         u32(static_cast<std::uint32_t>(directory.size())) + u32(static_cast<std::uint32_t>(file.size())) + u16(0);
}

}  // namespace esper::test
