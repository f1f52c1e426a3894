// Safetensors: what is accepted keeps every promise of the format and is written to the same contents. Each input is
// read as it is, and with its header's length put right, since most changes would end at the length.

#include "fuzz/fuzzing.h"
#include "unit/storage/safetensors_sample.h"

namespace esper::fuzz {

using storage::Bytes;
using storage::bytes_of;

std::vector<std::string> seeds() {
  const std::string data(64, '\x5a');
  const Bytes bytes = bytes_of(data);
  using storage::Dtype;
  return {test::written_safetensors({}),
          test::written_safetensors({{"host.weight", Dtype::kF32, {2, 3}, bytes.first(24)},
                                     {"host.bias", Dtype::kBF16, {3}, bytes.first(6)},
                                     {"step", Dtype::kI64, {}, bytes.first(8)},
                                     {"mask", Dtype::kBool, {0, 4}, {}}},
                                    {{"seed", "1337"}}),
          test::written_safetensors({{"\xc3\xa4", Dtype::kF64, {2}, bytes.first(16)}}, {{"a", ""}, {"b", "\n"}})};
}

namespace {

void check(const std::string& file) {
  const Bytes whole = bytes_of(file);
  const auto parsed = storage::parse_safetensors(whole);
  if (!parsed) {
    expect(!parsed.error().problem.empty(), "a refusal has a reason");
    return;
  }
  std::size_t used = 0;
  for (const auto& tensor : parsed->tensors) {
    expect(tensor.shape.size() <= storage::kMaxRank, "few dimensions");
    expect(storage::byte_count(tensor.shape, tensor.dtype) == tensor.bytes.size(), "bytes match the shape");
    expect(
        tensor.bytes.data() >= whole.data() && tensor.bytes.data() + tensor.bytes.size() <= whole.data() + whole.size(),
        "a tensor lies within the file");
    used += tensor.bytes.size();
  }
  expect(used < whole.size(), "tensors do not overlap");
  const std::string written = test::written_safetensors(parsed->tensors, parsed->metadata);
  const auto again = storage::parse_safetensors(bytes_of(written));
  expect(again && again->tensors.size() == parsed->tensors.size() && again->metadata == parsed->metadata,
         "what was accepted is accepted as it is written");
  expect(test::written_safetensors(again->tensors, again->metadata) == written, "writing is canonical");
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  esper::fuzz::check(file);
  const std::size_t brace = file.rfind('}');
  if (size < 8 || brace == std::string::npos || brace < 8) return 0;
  const std::size_t end = file.find_first_not_of(' ', brace + 1), header = std::min(end, size) - 8;
  esper::fuzz::check(esper::test::raw_safetensors(file.substr(8, header), 0) + file.substr(8 + header));
  return 0;
}
