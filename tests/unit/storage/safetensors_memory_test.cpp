// Memory that runs out while tensors are read. Where a document is written, the JSON library allocates in its
// destructor: a lack of memory there ends the process, as a kill does (atomic_publish_test.cpp).
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"
#include "support/faults/failing_new.h"
#include "support/temporary_folder.h"

namespace esper::test::safetensors_memory_test {

using namespace esper::storage;

namespace {

const std::vector<std::int64_t> kNumbers{1, 2, 3, 4};

Bytes bytes_of_numbers() {
  return {reinterpret_cast<const std::byte*>(kNumbers.data()), kNumbers.size() * sizeof(std::int64_t)};
}

void write_tensors(const ByteSink& sink) {
  const Bytes bytes = bytes_of_numbers();
  write_safetensors({{"a", Dtype::kI64, {2, 2}, bytes}, {"b", Dtype::kI64, {4}, bytes}}, {{"format", "pt"}}, sink);
}

void publish(const std::string& path) {
  publish_folder(real_file_system(), path, {{"state.safetensors", write_tensors}}, {{"step", 1}});
}

}  // namespace

TEST_CASE("whichever allocation fails while tensors are read, none of their contents are wrong") {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  publish(path);
  const auto failed = fail_each_allocation([&] {
    const auto read = load_safetensors(real_file_system(), path + "/state.safetensors", 1U << 20U);
    if (!read) return;
    const auto& tensors = read->contents.tensors;
    const auto bytes = bytes_of_numbers();
    const auto is_right = [&](const TensorView& tensor) { return std::ranges::equal(tensor.bytes, bytes); };
    if (tensors.size() != 2 || !std::ranges::all_of(tensors, is_right)) throw std::logic_error("other tensors");
  });
  CHECK(failed > 20);
}

}  // namespace esper::test::safetensors_memory_test
