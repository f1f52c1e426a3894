#include "unit/data/test_files.h"

#include <png.h>
#include <stdlib.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <fstream>

namespace esper::data::test {
namespace fs = std::filesystem;
namespace {

void append(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }

void append_little(Bytes& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

Bytes deflated(const Bytes& bytes, int window) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, bytes.size()) + 32);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::logic_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

// In memory where there is such a file system: the damaged-file tests write tens of thousands of files.
TempFolder::TempFolder() {
  const fs::path memory = "/dev/shm";
  const bool writable = access(memory.c_str(), W_OK) == 0;
  auto name = ((writable ? memory : fs::temp_directory_path()) / "esper-data-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Bytes to_bytes(const std::string& text) { return Bytes(text.begin(), text.end()); }

void write_file(const fs::path& file, const Bytes& bytes) {
  if (!fs::exists(file.parent_path())) fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes gzip(const Bytes& bytes) { return deflated(bytes, 15 + 16); }

Bytes idx(const std::vector<std::uint32_t>& sizes, const Bytes& values) {
  Bytes out{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const auto size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(size >> shift));
  }
  append(out, values);
  return out;
}

Bytes npy(const std::string& type, const std::string& shape, const Bytes& values, const std::string& fortran) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  auto out = to_bytes(std::string("\x93NUMPY\x01\x00", 8));
  append_little(out, header.size(), 2);
  append(out, to_bytes(header));
  append(out, values);
  return out;
}

Bytes zip(const std::vector<NamedBytes>& members, Packing packing) {
  Bytes out, directory;
  for (const auto& [name, bytes] : members) {
    const bool stored = packing == Packing::kStored;
    const auto packed = stored ? bytes : deflated(bytes, -15);
    Bytes common;
    append_little(common, 20, 2);
    append_little(common, 0, 2);
    append_little(common, stored ? 0 : 8, 2);
    append_little(common, 0, 4);
    append_little(common, crc32_z(0, bytes.data(), bytes.size()), 4);
    append_little(common, packed.size(), 4);
    append_little(common, bytes.size(), 4);
    append_little(common, name.size(), 2);
    append_little(common, 0, 2);
    append_little(directory, 0x02014b50, 4);
    append_little(directory, 20, 2);
    append(directory, common);
    append(directory, Bytes(10, 0));
    append_little(directory, out.size(), 4);
    append(directory, to_bytes(name));
    append_little(out, 0x04034b50, 4);
    append(out, common);
    append(out, to_bytes(name));
    append(out, packed);
  }
  const auto begin = out.size();
  append(out, directory);
  append_little(out, 0x06054b50, 4);
  append_little(out, 0, 4);
  append_little(out, members.size(), 2);
  append_little(out, members.size(), 2);
  append_little(out, directory.size(), 4);
  append_little(out, begin, 4);
  append_little(out, 0, 2);
  return out;
}

Image picture(std::int64_t width, std::int64_t height, int seed) {
  Image image{width, height, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave =
            std::sin(0.3 * static_cast<double>(x) + seed + c) + std::cos(0.2 * static_cast<double>(y) - seed);
        image.pixels.push_back(static_cast<std::uint8_t>(127.5 + 60 * wave));
      }
    }
  }
  return image;
}

Bytes png(const Image& image) {
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  control.width = static_cast<png_uint_32>(image.width);
  control.height = static_cast<png_uint_32>(image.height);
  control.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&control, nullptr, &size, 0, image.pixels.data(), 0, nullptr);
  Bytes out(size);
  if (!png_image_write_to_memory(&control, out.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw std::logic_error("png");
  out.resize(size);
  return out;
}

Bytes jpeg(const Image& image) {
  tjhandle encoder = tjInitCompress();
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  tjCompress2(encoder, image.pixels.data(), static_cast<int>(image.width), 0, static_cast<int>(image.height), TJPF_RGB,
              &buffer, &size, TJSAMP_420, 90, 0);
  Bytes out(buffer, buffer + size);
  tjFree(buffer);
  tjDestroy(encoder);
  return out;
}

}  // namespace esper::data::test
