#include "data/files/byte_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "data/files/inflate.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

namespace esper::data {

std::int64_t require_regular_file(const base::Descriptor& file, const std::filesystem::path& path) {
  if (!file.is_open()) fail_input(path, "", std::string("cannot be opened: ") + std::strerror(errno));
  struct stat facts{};
  if (fstat(file.number(), &facts) != 0) fail_input(path, "", std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) fail_input(path, "", "is a folder, expected a file");
  if (!S_ISREG(facts.st_mode)) fail_input(path, "", "is not a regular file");
  if (facts.st_size == 0) fail_input(path, "", "is empty");
  return facts.st_size;
}

Bytes read_bytes_raw(const std::filesystem::path& path, const ReadOptions& options) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto size = require_regular_file(file, path);
  require_memory(path, "the file", size, options);
  Bytes bytes(static_cast<std::size_t>(size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto got = read(file.number(), bytes.data() + done, std::min<std::size_t>(bytes.size() - done, 1 << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_input(path, at_byte(static_cast<std::int64_t>(done)), std::strerror(errno));
    if (got == 0)
      fail_input(path, at_byte(static_cast<std::int64_t>(done)), "the file became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

Bytes read_bytes(const std::filesystem::path& path, const ReadOptions& options) {
  auto bytes = read_bytes_raw(path, options);
  const bool gzip = bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  if (!gzip) return bytes;
  const auto usable = usable_memory(options);
  const auto size = gzip_size(bytes, usable.bytes, path);
  if (size == 0) fail_input(path, "", "is empty after decompression");
  if (size > usable.bytes) {
    fail_memory(path,
                "what its " + base::mebibytes(static_cast<std::int64_t>(bytes.size())) + " of gzip data decompress to",
                "more than " + base::mebibytes(usable.bytes), usable);
  }
  return inflate_gzip(bytes, size, path);
}

}  // namespace esper::data
