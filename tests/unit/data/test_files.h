#pragma once
// Little real files for the readers' tests.

#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "data/files/image_decode.h"
#include "data/files/raw_samples.h"

namespace esper::data::test {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Bytes to_bytes(const std::string& text);
void write_file(const std::filesystem::path& file, const Bytes& bytes);
inline void write_file(const std::filesystem::path& file, const std::string& text) { write_file(file, to_bytes(text)); }

Bytes gzip(const Bytes& bytes);
Bytes idx(const std::vector<std::uint32_t>& sizes, const Bytes& values);
Bytes npy(const std::string& type, const std::string& shape, const Bytes& values, const std::string& fortran = "False");
struct NamedBytes {
  std::string name;
  Bytes bytes;
};
enum class Packing { kStored, kDeflated };
Bytes zip(const std::vector<NamedBytes>& members, Packing packing);

// A smooth picture that differs with `seed`.
Image picture(std::int64_t width, std::int64_t height, int seed);
Bytes png(const Image& image);
Bytes jpeg(const Image& image);

template <class T>
Bytes raw(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
  return Bytes(begin, begin + values.size() * sizeof(T));
}

// The error that `action` throws.
template <class Action>
base::Error error_of(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace esper::data::test
