#include "data/files/inflate.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "data/files/input_error.h"

namespace esper::data {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kRawWindow = -15;

class InflateStream {
 public:
  InflateStream(std::span<const std::uint8_t> packed, int window) : packed_(packed) {
    ESPER_CHECK(inflateInit2(&stream_, window) == Z_OK, "cannot initialise zlib");
  }
  ~InflateStream() { inflateEnd(&stream_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  // Decompresses into `room` and returns zlib's status; `written` is the number of bytes.
  int step(std::span<std::uint8_t> room, std::size_t& written) {
    constexpr std::size_t kMost = 1u << 30;  // zlib counts in 32 bits
    const auto in = std::min(packed_.size() - used_, kMost), out = std::min(room.size(), kMost);
    stream_.next_in = const_cast<Bytef*>(packed_.data() + used_);
    stream_.avail_in = static_cast<uInt>(in);
    stream_.next_out = room.data();
    stream_.avail_out = static_cast<uInt>(out);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    used_ += in - stream_.avail_in;
    written = out - stream_.avail_out;
    return status;
  }
  bool next_member() { return used_ < packed_.size() && inflateReset(&stream_) == Z_OK; }
  bool exhausted() const { return used_ == packed_.size(); }
  std::int64_t used() const { return static_cast<std::int64_t>(used_); }
  std::string reason() const { return stream_.msg ? stream_.msg : "the stream is damaged"; }

 private:
  std::span<const std::uint8_t> packed_;
  std::size_t used_ = 0;
  z_stream stream_{};
};

// All members, checksums verified. `room(written)` takes account of what came and says where the next bytes go; an
// empty room ends it.
template <class Room>
void unfold_members(std::span<const std::uint8_t> packed, const std::filesystem::path& file, Room room) {
  InflateStream stream(packed, kGzipWindow);
  for (auto out = room(0); !out.empty();) {
    std::size_t written = 0;
    const int status = stream.step(out, written);
    if (status == Z_STREAM_END && !stream.next_member()) {
      room(written);
      return;
    }
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      fail_input(file, at_byte(stream.used()), "damaged gzip data: " + stream.reason());
    }
    if (written == 0 && stream.exhausted()) {
      fail_input(file, at_byte(stream.used()), "gzip data are truncated");
    }
    out = room(written);
  }
}

}  // namespace

std::int64_t most_unfolded(std::int64_t packed) {
  return packed > (std::int64_t{1} << 50) ? packed : packed * 1032 + 258;
}

std::int64_t gzip_size(std::span<const std::uint8_t> packed, std::int64_t limit, const std::filesystem::path& file) {
  Bytes scratch(1 << 16);
  std::int64_t size = 0;
  unfold_members(packed, file, [&](std::size_t written) {
    size += static_cast<std::int64_t>(written);
    return size > limit ? std::span<std::uint8_t>() : std::span(scratch);
  });
  return size;
}

Bytes inflate_gzip(std::span<const std::uint8_t> packed, std::int64_t size, const std::filesystem::path& file) {
  Bytes out(static_cast<std::size_t>(size) + 1);  // zlib wants room to see the end of a stream in
  std::size_t done = 0;
  unfold_members(packed, file, [&](std::size_t written) {
    done += written;
    return std::span(out).subspan(done);
  });
  ESPER_CHECK(done + 1 == out.size(), "gzip data have the same size in both passes");
  out.resize(done);
  return out;
}

Bytes inflate_raw(std::span<const std::uint8_t> packed, std::int64_t size, const std::filesystem::path& file,
                  std::int64_t offset) {
  InflateStream stream(packed, kRawWindow);
  Bytes out(static_cast<std::size_t>(size) + 1);  // one more byte shows a stream that is too long
  std::size_t done = 0;
  int status = Z_OK;
  while (status == Z_OK && done < out.size()) {
    std::size_t written = 0;
    status = stream.step(std::span(out).subspan(done), written);
    done += written;
  }
  if (status != Z_STREAM_END || done != static_cast<std::size_t>(size)) {
    const auto why = status == Z_DATA_ERROR ? stream.reason() : "its length differs from the one in the archive";
    fail_input(file, at_byte(offset + stream.used()), "damaged compressed data: " + why);
  }
  out.resize(done);
  return out;
}

}  // namespace esper::data
