#include "data/files/image_decode.h"

#include <png.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::image_decode_test {
namespace {

using Catch::Matchers::ContainsSubstring;

// A PNG of one row. gamma: of a chunk gAMA; 0: none.
Bytes png_of(int color_type, int depth, Bytes row, double gamma = 0) {
  Bytes out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto write = [](png_structp to, png_bytep data, std::size_t size) {
    auto& bytes = *static_cast<Bytes*>(png_get_io_ptr(to));
    bytes.insert(bytes.end(), data, data + size);
  };
  png_set_write_fn(png, &out, write, [](png_structp) {});
  const auto channels = color_type == PNG_COLOR_TYPE_GRAY ? 1u : color_type == PNG_COLOR_TYPE_RGB ? 3u : 4u;
  const auto width = static_cast<png_uint_32>(row.size() * 8) / (channels * static_cast<png_uint_32>(depth));
  png_set_IHDR(png, info, width, 1, depth, color_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (gamma > 0) png_set_gAMA(png, info, gamma);
  png_write_info(png, info);
  png_write_row(png, row.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

// Between the header and what follows it.
Bytes with_chunk(const Bytes& image, const std::string& name, const Bytes& content) {
  const auto behind_header = image.begin() + 33;
  const Bytes length{0, 0, 0, static_cast<std::uint8_t>(content.size())}, wrong_checksum(4);
  Bytes out;
  out.reserve(2 * image.size() + content.size());
  for (const auto& part : {Bytes(image.begin(), behind_header), length, to_bytes(name), content, wrong_checksum,
                           Bytes(behind_header, image.end())}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

TEST_CASE("a PNG's numbers are taken as they are, whatever its gamma, of 16 bits the high 8") {
  const auto pixels_of = [](const Bytes& bytes) { return decode_image(bytes, "a.png", {}).pixels; };
  const Bytes deep{0x12, 0xff, 0x80, 0x80, 0xfe, 0x01};
  CHECK(pixels_of(png_of(PNG_COLOR_TYPE_RGB, 16, deep)) == Bytes{0x12, 0x80, 0xfe});
  CHECK(pixels_of(png_of(PNG_COLOR_TYPE_GRAY, 16, {0x40, 0xff, 0xc0, 0x00})) ==
        Bytes{0x40, 0x40, 0x40, 0xc0, 0xc0, 0xc0});
  CHECK(pixels_of(png_of(PNG_COLOR_TYPE_GRAY, 2, {0x1b})) == Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255});
  CHECK(pixels_of(png_of(PNG_COLOR_TYPE_RGB, 8, {10, 100, 200}, 1.0)) == Bytes{10, 100, 200});
  CHECK(pixels_of(png_of(PNG_COLOR_TYPE_RGB_ALPHA, 8, {10, 100, 200, 0})) == Bytes{10, 100, 200});
}

TEST_CASE("damage in a PNG's pixels is refused, beside them it is not") {
  const auto original = picture(8, 6, 1);
  const auto whole = png(original);
  const auto decoded = [](const Bytes& bytes) { return decode_image(bytes, "a.png", {}).pixels; };
  CHECK(decoded(with_chunk(whole, "iCCP", Bytes{'x', 0, 0, 1, 2})) == original.pixels);
  CHECK(decoded(with_chunk(whole, "tEXt", to_bytes("no key"))) == original.pixels);
  CHECK_THAT(error_of([&] { decoded(with_chunk(whole, "PLTE", Bytes(3))); }).what(), ContainsSubstring("damaged PNG"));
  constexpr std::size_t kEnd = 12;  // the empty last chunk
  for (std::size_t size = 8; size + kEnd < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_THAT(error_of([&] { decoded(cut); }).what(), ContainsSubstring("a.png: damaged PNG: "));
  }
  auto wrong_sum = whole;
  wrong_sum[whole.size() - kEnd - 1] ^= 1;
  CHECK_THAT(error_of([&] { decoded(wrong_sum); }).what(), ContainsSubstring("damaged PNG: IDAT: CRC error"));
}

}  // namespace
}  // namespace esper::data::test::image_decode_test
