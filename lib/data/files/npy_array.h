#pragma once
// One array in numpy's .npy format (numpy/lib/format.py describes versions 1.0 to 3.0). The header is parsed, never
// evaluated; pickled objects are refused. Any thread.

#include <filesystem>
#include <string>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

enum class ByteOrder { kLittle, kBig };
enum class Layout { kRowMajor, kColumnMajor };

struct NpyArray {
  char type = 'f';  // 'f' float, 'i' signed, 'u' unsigned, 'b' bool
  int item_size = 4;
  ByteOrder order = ByteOrder::kLittle;
  Layout layout = Layout::kRowMajor;
  std::vector<std::int64_t> sizes;
  Bytes bytes;            // the file, header included
  std::size_t begin = 0;  // where the elements begin
  std::string source;     // file, or file and member, for messages

  std::int64_t count() const { return elements_of(sizes); }
  bool is_pixels() const { return type == 'u' && item_size == 1; }
};

// Checks magic, header and that the elements fill the rest of the bytes exactly. Throws Error{kData}.
NpyArray parse_npy(Bytes bytes, const std::string& source);

// Elements in row-major order.
std::vector<double> npy_numbers(const NpyArray& array);
std::vector<float> npy_floats(const NpyArray& array);
Bytes npy_pixels(const NpyArray& array);

}  // namespace esper::data
