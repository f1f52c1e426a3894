// Arrays of numpy: an archive, a folder of x and y, or inputs alone.

#include "data/readers/npy_reader.h"
#include "fuzz/sample_check.h"
#include "support/temporary_folder.h"
#include "unit/data/test_files.h"

namespace esper::fuzz {
namespace {

enum Form { kArchive, kFolder, kInputs, kForms };

std::string text(const data::Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::string chosen(Form form, int options) { return {static_cast<char>(form), static_cast<char>(options)}; }

}  // namespace

std::vector<std::string> seeds() {
  using namespace data::test;
  const auto floats = npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}));
  const auto labels = npy("<i8", "(2,)", raw<std::int64_t>({1, 0}));
  const auto pixels = npy("|u1", "(1, 2, 2, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto columns = npy(">f8", "(2, 2)", raw<double>({1, 2, 3, 4}), "True");
  const auto pixel_classes = npy("<u2", "(1, 2, 2)", raw<std::uint16_t>({0, 1, 2, 3}));
  std::vector<std::string> found;
  for (const auto packing : {Packing::kStored, Packing::kDeflated}) {
    found.push_back(chosen(kArchive, 0) + text(zip({{"x.npy", floats}, {"y.npy", labels}}, packing)));
    found.push_back(
        chosen(kArchive, 1) +
        text(zip({{"x_train.npy", floats}, {"y_train.npy", labels}, {"x_test.npy", floats}, {"y_test.npy", labels}},
                 packing)));
  }
  for (int options = 0; options < 6; ++options)
    found.push_back(chosen(kFolder, options) + part(text(labels)) + text(floats));
  found.push_back(chosen(kFolder, 0) + part(text(pixel_classes)) + text(pixels));
  found.push_back(chosen(kFolder, 1) + part(text(labels)) + text(columns));
  found.push_back(chosen(kInputs, 0) + text(pixels));
  found.push_back(chosen(kInputs, 0) + text(columns));
  found.push_back(chosen(kInputs, 0) + text(npy("<f2", "(2, 1, 1, 3)", raw<std::uint16_t>({1, 2, 3, 4, 5, 6}))));
  return found;
}

namespace {

void check(const test::TemporaryFolder& folder, const std::string& path, const data::ReadOptions& options) {
  data::BadSamples bad(options.bad_sample);
  const auto parts = data::read_npy(path.empty() ? folder.path() : path, options, bad);
  check_samples(parts.train, false);
  if (parts.test) check_samples(*parts.test, false);
}

void check(const test::TemporaryFolder& folder, Input input) {
  const auto form = static_cast<Form>(input.byte() % kForms);
  const auto options = options_of(input.byte());
  if (form == kArchive) {
    write_file(folder / "all.npz", input.rest());
    return check(folder, folder / "all.npz", options);
  }
  if (form == kFolder) {
    write_file(folder / "y.npy", input.part());
    write_file(folder / "x.npy", input.rest());
    return check(folder, "", options);
  }
  write_file(folder / "inputs", input.rest());
  const auto samples = data::read_npy_inputs(folder / "inputs", options);
  const auto values = std::visit([](const auto& all) { return all.size(); }, samples.values);
  check_inputs(samples, static_cast<std::int64_t>(values) / data::elements_of(samples.sizes));
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const esper::test::TemporaryFolder folder;
  esper::fuzz::expect_data_error([&] { esper::fuzz::check(folder, {data, size}); });
  return 0;
}
