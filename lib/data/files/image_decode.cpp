#include "data/files/image_decode.h"

#include <fmt/core.h>
#include <png.h>
#include <turbojpeg.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"
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

// libpng reports an error with longjmp, which passes over destructors: whatever runs between setjmp and it holds plain
// data alone, and the decoded image belongs to the caller.
struct PngReading {
  std::span<const std::uint8_t> left;
  std::array<char, 128> problem{};
  int passes = 1;  // over the rows: 7 where they are interlaced
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit PngReading(std::span<const std::uint8_t> bytes) : left(bytes) {}
  PngReading(const PngReading&) = delete;
  PngReading& operator=(const PngReading&) = delete;
  ~PngReading() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp text) {
  auto& problem = static_cast<PngReading*>(png_get_error_ptr(png))->problem;
  std::strncpy(problem.data(), text, problem.size() - 1);
  png_longjmp(png, 1);
}

// What libpng only warns of is no part of the pixels: a colour profile, a comment.
void on_png_warning(png_structp, png_const_charp) {}

void take_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& left = static_cast<PngReading*>(png_get_io_ptr(png))->left;
  if (count > left.size()) png_error(png, "ends too early");
  std::memcpy(to, left.data(), count);
  left = left.subspan(count);
}

bool begin_png(PngReading& reading) {
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_png_error, on_png_warning);
  if (reading.png != nullptr) reading.info = png_create_info_struct(reading.png);
  return reading.info != nullptr;
}

// Up to the first row. Every colour type becomes 8 bits of red, green and blue, as the file has them: no gamma, and of
// 16 bits the high byte, as Pillow reads colours.
bool read_png_header(PngReading& reading) {
  const auto png = reading.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reading, take_png_bytes);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // profiles and texts would take memory
  png_read_info(png, reading.info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  reading.passes = png_set_interlace_handling(png);
  png_read_update_info(png, reading.info);
  return true;
}

bool read_png_rows(PngReading& reading, std::uint8_t* pixels) {
  const auto png = reading.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_benign_errors(png, 0);  // a wrong checksum of the rows would be a warning
  const auto height = png_get_image_height(png, reading.info);
  const auto row_size = png_get_rowbytes(png, reading.info);
  for (int pass = 0; pass < reading.passes; ++pass) {
    for (png_uint_32 row = 0; row < height; ++row) png_read_row(png, pixels + row * row_size, nullptr);
  }
  return true;
}

Image decode_png(std::span<const std::uint8_t> bytes, const fs::path& file, const ReadOptions& options) {
  PngReading reading(bytes);
  const auto check = [&](bool ok) {
    if (!ok) fail_input(file, "", std::string("damaged PNG: ") + reading.problem.data());
  };
  if (!begin_png(reading)) throw std::bad_alloc();
  check(read_png_header(reading));
  const auto width = png_get_image_width(reading.png, reading.info);
  const auto height = png_get_image_height(reading.png, reading.info);
  check_size(file, width, height, 3, options);
  ESPER_CHECK(png_get_rowbytes(reading.png, reading.info) == std::size_t{width} * 3, "PNG rows of 3 bytes a pixel");
  Image image{width, height, Bytes(std::size_t{width} * height * 3)};
  check(read_png_rows(reading, image.pixels.data()));
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
