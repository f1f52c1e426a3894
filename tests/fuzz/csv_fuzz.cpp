// Comma-separated numbers: what is accepted is the same after it was written with a header, and each class in quotes.

#include <fmt/core.h>

#include "data/readers/csv_reader.h"
#include "fuzz/sample_check.h"
#include "support/temporary_folder.h"
#include "unit/data/test_files.h"

namespace esper::fuzz {

std::vector<std::string> seeds() {
  const std::string packed = "1,2,3\n4,5,6\n";
  const auto gzip = data::test::gzip(data::test::to_bytes(packed));
  std::vector<std::string> found = {
      std::string(1, '\0') + std::string(gzip.begin(), gzip.end()),
      std::string(1, '\0') + "\xef\xbb\xbfwidth,height,kind\r\n1.5, -2e3 ,cat\r\n\r\n0,1,\"dog, \"\"big\"\"\n\"\r\n",
      std::string(1, '\1') + "0,1,2\n1,2,a\n\"open,2,b\nx,2,b\n7,nan,b\n9,9,b"};
  for (char options = 0; options < 6; ++options) found.push_back(options + std::string("1,2,0\n3.25,4,1\n5,6,0\n"));
  return found;
}

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string written(const data::RawSamples& samples) {
  const auto width = static_cast<std::size_t>(data::elements_of(samples.sizes));
  const auto& values = std::get<std::vector<float>>(samples.values);
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += fmt::format("f{},", i);
  out += "target\n";
  for (std::size_t row = 0; row * width < values.size(); ++row) {
    for (std::size_t i = 0; i < width; ++i) out += fmt::format("{},", values[row * width + i]);
    out += samples.numbers.empty() ? quoted(samples.class_names[static_cast<std::size_t>(samples.labels[row])])
                                   : fmt::format("{}", samples.numbers[row]);
    out += '\n';
  }
  return out;
}

void check(const test::TemporaryFolder& folder, Input input) {
  auto options = options_of(input.byte());
  write_file(folder / "all.csv", input.rest());
  data::BadSamples bad(options.bad_sample);
  const auto samples = data::read_csv(folder / "all.csv", options, bad);
  check_samples(samples, true);
  if (data::samples_in(samples) == 0) return;
  write_file(folder / "again.csv", written(samples));
  data::BadSamples none(config::BadSample::kFail);
  const auto again = data::read_csv(folder / "again.csv", options, none);
  expect(again.values == samples.values && again.labels == samples.labels && again.numbers == samples.numbers &&
             again.class_names == samples.class_names,
         "what was written reads back as the same");
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const esper::test::TemporaryFolder folder;
  esper::fuzz::expect_data_error([&] { esper::fuzz::check(folder, {data, size}); });
  return 0;
}
