// IDX files, packed or not: labels as a part, then images.

#include "data/readers/idx_reader.h"
#include "fuzz/sample_check.h"
#include "support/temporary_folder.h"
#include "unit/data/test_files.h"

namespace esper::fuzz {
namespace {

std::string text(const data::Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

std::vector<std::string> seeds() {
  const auto labels = data::test::idx({2}, {0, 9});
  const auto images = data::test::idx({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  return {part(text(labels)) + text(images), part(text(data::test::gzip(labels))) + text(data::test::gzip(images)),
          part(text(labels)) + text(data::test::idx({2, 1, 1, 2}, {1, 2, 3, 4})),
          part(text(labels)) + text(data::test::idx({2, 1}, {1, 2}))};
}

}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace esper;
  static const test::TemporaryFolder folder;
  fuzz::Input input(data, size);
  fuzz::write_file(folder / "labels", input.part());
  fuzz::write_file(folder / "images", input.rest());
  fuzz::expect_data_error([&] {
    const auto parts = data::read_idx(folder / "images", fuzz::options_of(0));
    fuzz::expect(!parts.train.labels.empty(), "what is accepted has samples");
    fuzz::check_samples(parts.train, false);
  });
  return 0;
}
