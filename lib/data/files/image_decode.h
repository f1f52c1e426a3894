#pragma once
// JPEG and PNG files to pixels, through libjpeg-turbo and libpng. Any thread.

#include <filesystem>
#include <span>

#include "data/files/raw_samples.h"

namespace esper::data {

// Largest image that is decoded, in pixels; the header's claim is checked before memory is taken.
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

struct Image {
  std::int64_t width = 0, height = 0;
  Bytes pixels;  // [height, width, 3], red first
};

// The file's kind is recognised by its first bytes. Transparency is dropped; grey becomes three equal channels. Of 16
// bits a channel the high byte is taken; gamma and colour profiles are not applied. Throws Error{kData} naming the
// file; pixels that decode only with warnings (a cut JPEG) count as damaged, a PNG's chunks beside them do not. Throws
// Error{kResources}, before memory is taken, if its pixels do not fit.
Image decode_image(const std::filesystem::path& file, const ReadOptions& options);
// The same for a file's bytes; `file` is for messages only.
Image decode_image(std::span<const std::uint8_t> bytes, const std::filesystem::path& file, const ReadOptions& options);

// [3, height, width] or, for one channel, [1, height, width] by ITU-R BT.601 luma.
Bytes to_planes(const Image& image, std::int64_t channels);

}  // namespace esper::data
