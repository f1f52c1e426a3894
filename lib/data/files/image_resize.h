#pragma once
#include "data/files/image_decode.h"

namespace esper::data {

// Scales to size x size pixels with a triangle filter that widens when it shrinks (antialiased bilinear), in fixed
// point of 22 bits: the arithmetic of Pillow's resize(BILINEAR), bit for bit. The aspect ratio is not kept.
Image resize_square(Image image, std::int64_t size);

}  // namespace esper::data
