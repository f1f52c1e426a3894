#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "storage/file_tools.h"
#include "storage/little_endian.h"
#include "storage/safetensors/safetensors.h"
#include "storage/safetensors/safetensors_header.h"

namespace esper::storage {
namespace {

constexpr std::size_t kLengthBytes = 8;

// "" or how this file came about, for those who offer torch.save's output.
std::string advice_for(Bytes file) {
  const auto text = text_of(file);
  if (!text.starts_with("PK\x03\x04") && !text.starts_with("\x80\x02")) return {};
  return "; this looks like a pickle of torch.save (.pt), which can run code and is not supported: convert it with the "
         "Python package safetensors";
}

// Checks the spans, which must tile `data` in order, and makes views of them.
base::Expected<Safetensors, ReadFailure> lay_out(SafetensorsHeader header, Bytes data) {
  std::ranges::stable_sort(header.tensors, {}, &HeaderTensor::offsets);
  Safetensors result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.tensors.size());
  std::uint64_t position = 0;
  for (auto& tensor : header.tensors) {
    const auto begin = static_cast<std::uint64_t>(tensor.offsets[0]);
    const auto end = static_cast<std::uint64_t>(tensor.offsets[1]);
    const std::string which = fmt::format("tensor {} by offset", result.tensors.size());
    if (begin < position) return damaged(which + " overlaps the one before it");
    if (begin > position) return damaged("there is a gap before " + which);
    if (end < begin) return damaged(which + " ends before it begins");
    if (end > data.size()) return damaged(which + " ends beyond the file");
    const auto expected = byte_count(tensor.shape, tensor.dtype);
    if (!expected) return damaged(which + " has a shape beyond 64 bits");
    if (*expected != end - begin) {
      return damaged(fmt::format("{} has {} bytes, its shape and type need {}", which, end - begin, *expected));
    }
    result.tensors.push_back(
        {std::move(tensor.name), tensor.dtype, std::move(tensor.shape), data.subspan(begin, end - begin)});
    position = end;
  }
  if (position != data.size()) {
    return damaged(fmt::format("{} bytes at the end belong to no tensor", data.size() - position));
  }
  return result;
}

}  // namespace

base::Expected<Safetensors, ReadFailure> parse_safetensors(Bytes file) {
  if (file.size() < kLengthBytes) return damaged("the file has under 8 bytes");
  const auto header_bytes = load_little_endian<std::uint64_t>(file);
  if (header_bytes > kMaxSafetensorsHeaderBytes)
    return damaged(fmt::format("the header claims over 100 MB{}", advice_for(file)));
  if (header_bytes > file.size() - kLengthBytes) return damaged("the header goes beyond the end of the file");
  auto header = parse_safetensors_header(text_of(file.subspan(kLengthBytes, header_bytes)));
  if (!header) return base::failure(header.error());
  return lay_out(*std::move(header), file.subspan(kLengthBytes + header_bytes));
}

base::Expected<LoadedSafetensors, ReadFailure> load_safetensors(base::FileSystem& file_system, const std::string& path,
                                                                std::uint64_t max_bytes) {
  LoadedSafetensors loaded;
  try {
    loaded.file = read_file(file_system, path, max_bytes);
  } catch (const base::IoError& error) {
    if (error.error_number() != EFBIG) throw;
    return damaged(fmt::format("{} is larger than {} bytes", path, max_bytes));
  }
  auto parsed = parse_safetensors(loaded.file);
  if (!parsed) return damaged(path + ": " + parsed.error().problem);
  loaded.contents = *std::move(parsed);
  return loaded;
}

}  // namespace esper::storage
