#include "data/files/image_decode.h"

#include <fmt/core.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstring>
#include <memory>

#include "data/files/byte_file.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

namespace esper::data {
namespace {

namespace fs = std::filesystem;

// bytes: that decoding takes for each pixel.
void check_size(const fs::path& file, std::int64_t width, std::int64_t height, std::int64_t bytes,
                const ReadOptions& options) {
  if (width < 1 || height < 1 || width > kMaxPixels / height) {
    fail_input(file, "", fmt::format("claims {} x {} pixels; the limit is {} in all", width, height, kMaxPixels));
  }
  const auto size = fmt::format("{} x {}", width, height);
  require_memory(file, "decoding its " + size + " pixels", width * height * bytes, options);
}

Image decode_jpeg(std::span<const std::uint8_t> bytes, const fs::path& file, const ReadOptions& options) {
  struct Close {
    void operator()(void* handle) const { tjDestroy(handle); }
  };
  const std::unique_ptr<void, Close> decoder(tjInitDecompress());
  const auto fail = [&] { fail_input(file, "", std::string("damaged JPEG: ") + tjGetErrorStr2(decoder.get())); };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), bytes.data(), bytes.size(), &width, &height, &subsampling, &colours) != 0)
    fail();
  constexpr std::int64_t kProgressive = 6;  // coefficients of all scans, beside the pixels
  check_size(file, width, height, 3 + kProgressive, options);
  Image image{width, height, Bytes(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3)};
  // A scan limit: a progressive file of a few bytes can otherwise ask for minutes of work.
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(decoder.get(), bytes.data(), bytes.size(), image.pixels.data(), width, 0, height, TJPF_RGB,
                    kFlags) != 0)
    fail();
  return image;
}

Image decode_png(std::span<const std::uint8_t> bytes, const fs::path& file, const ReadOptions& options) {
  struct Free {
    void operator()(png_image* p) const { png_image_free(p); }
  };
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, Free> release(&control);
  const auto check = [&](int ok) {
    if (!ok || control.warning_or_error != 0) fail_input(file, "", std::string("damaged PNG: ") + control.message);
  };
  check(png_image_begin_read_from_memory(&control, bytes.data(), bytes.size()));
  check_size(file, control.width, control.height, 4 + 3, options);
  control.format = PNG_FORMAT_RGBA;
  Bytes rgba(PNG_IMAGE_SIZE(control));
  check(png_image_finish_read(&control, nullptr, rgba.data(), 0, nullptr));
  Image image{control.width, control.height, Bytes(rgba.size() / 4 * 3)};
  for (std::size_t p = 0; p < rgba.size() / 4; ++p) std::memcpy(image.pixels.data() + 3 * p, rgba.data() + 4 * p, 3);
  return image;
}

}  // namespace

Image decode_image(const fs::path& file, const ReadOptions& options) {
  return decode_image(read_bytes_raw(file, options), file, options);
}

Image decode_image(std::span<const std::uint8_t> bytes, const fs::path& file, const ReadOptions& options) {
  if (bytes.size() >= 3 && std::memcmp(bytes.data(), "\xff\xd8\xff", 3) == 0) return decode_jpeg(bytes, file, options);
  if (bytes.size() >= 8 && std::memcmp(bytes.data(), "\x89PNG\r\n\x1a\n", 8) == 0)
    return decode_png(bytes, file, options);
  fail_input(file, at_byte(0), "is neither JPEG nor PNG");
}

Bytes to_planes(const Image& image, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(image.width * image.height);
  Bytes planes(count * static_cast<std::size_t>(channels));
  for (std::size_t p = 0; p < count; ++p) {
    const auto* rgb = image.pixels.data() + 3 * p;
    if (channels == 1) {
      planes[p] = static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
    } else {
      for (std::size_t c = 0; c < 3; ++c) planes[c * count + p] = rgb[c];
    }
  }
  return planes;
}

}  // namespace esper::data
