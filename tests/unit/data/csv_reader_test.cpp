#include "data/csv_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using leyline::BadSample;

struct Result {
  RawSamples samples;
  std::int64_t skipped;
};

Result read(const Bytes& content, BadSample policy = BadSample::kFail) {
  const TempFolder folder;
  write_file(folder / "a.csv", content);
  BadSamples bad(policy);
  auto samples = read_csv(folder / "a.csv", {}, bad);
  return {std::move(samples), bad.skipped()};
}
Result read(const std::string& text, BadSample policy = BadSample::kFail) { return read(to_bytes(text), policy); }

std::string complaint(const std::string& text) {
  const auto error = error_of([&] { read(text); });
  CHECK(error.code() == leyline::ExitCode::kData);
  return error.what();
}

std::vector<float> values_of(const Result& r) { return std::get<std::vector<float>>(r.samples.values); }

TEST_CASE("csv: numbers, a class in the last column, with and without a header") {
  for (const std::string header : {"", "height,width,kind\n"}) {
    const auto r = read(header + "1,2.5,0\n-3e2, 4 ,2\n5,6,1\n");
    CHECK(values_of(r) == std::vector<float>{1, 2.5, -300, 4, 5, 6});
    CHECK(r.samples.labels == std::vector<std::int64_t>{0, 2, 1});
    CHECK(r.samples.sizes == std::vector<std::int64_t>{2});
  }
}

TEST_CASE("csv: gzip, a byte-order mark, CRLF, blank lines and a missing last line end change nothing") {
  const std::string text = "1,2,a\n3,4,b\n";
  const auto plain = read(text);
  for (const auto& other : {gzip(to_bytes(text)), to_bytes("\xef\xbb\xbf" + text), to_bytes("1,2,a\r\n\r\n3,4,b"),
                            to_bytes("\n1,2,a\n\n3,4,b\n\n")}) {
    const auto r = read(other);
    CHECK(values_of(r) == values_of(plain));
    CHECK(r.samples.labels == plain.samples.labels);
  }
}

TEST_CASE("csv: class names sort by bytes, class numbers by value") {
  CHECK(read("1,zebra\n2,ant\n3,zebra\n").samples.labels == std::vector<std::int64_t>{1, 0, 1});
  const auto r = read("1,10\n2,9\n3,-1\n");
  CHECK(r.samples.class_names == std::vector<std::string>{"-1", "9", "10"});
  CHECK(r.samples.labels == std::vector<std::int64_t>{2, 1, 0});
}

TEST_CASE("csv: quoted fields hold commas, quotes and line ends") {
  const auto r = read("\"1\",\"a,b\"\n2,\"say \"\"hi\"\"\"\n3,\"two\nlines\"\n");
  CHECK(r.samples.class_names == std::vector<std::string>{"a,b", "say \"hi\"", "two\nlines"});
}

TEST_CASE("csv: an error names line and column") {
  CHECK_THAT(complaint("1,2,a\n3,x,b\n"), ContainsSubstring("a.csv: line 2, column 3: expected a number, found \"x\""));
  CHECK_THAT(complaint("1,2,a\n3,b\n"), ContainsSubstring("line 2, column 3: the line has 2 columns, the first has 3"));
  CHECK_THAT(complaint("1,2,a\n3,nan,b\n"), ContainsSubstring("line 2, column 3"));
  CHECK_THAT(complaint("1,2,a\n3,1e999,b\n"), ContainsSubstring("line 2, column 3"));
  CHECK_THAT(complaint("1,2,a\n,4,b\n"), ContainsSubstring("line 2, column 1"));
  CHECK_THAT(complaint("1,2,a\n3,4,\n"), ContainsSubstring("line 2, column 5: the class is missing"));
  CHECK_THAT(complaint("1,2,0.5\n"), ContainsSubstring("whole number or a name"));
  CHECK_THAT(complaint("1,x,a\n2,3,b\n"), ContainsSubstring("line 1, column 3"));
  CHECK_THAT(complaint("1,a\"b,c\n"), ContainsSubstring("line 1, column 4: a quote inside"));
  CHECK_THAT(complaint("1,\"a\"b\n"), ContainsSubstring("line 1, column 6: text after a closing quote"));
  CHECK_THAT(complaint("1,2\n3,\"a\n\n4,5\n"), ContainsSubstring("line 2, column 3: a quoted field is never closed"));
  CHECK_THAT(complaint("1\n2\n"), ContainsSubstring("one column"));
}

TEST_CASE("csv: bad lines are skipped and counted where that is allowed") {
  const auto r = read("1,2,a\nx,2,a\n3\n4,5,\"b\n6,7,c\n8,9,1.5\n", BadSample::kSkip);
  CHECK(values_of(r) == std::vector<float>{1, 2, 6, 7});
  CHECK(r.samples.class_names == std::vector<std::string>{"a", "c"});
  CHECK(r.skipped == 4);
}

TEST_CASE("files that are missing, empty, no files, damaged or too large are refused with a reason") {
  const TempFolder folder;
  const auto refuse = [&](const std::filesystem::path& file, std::int64_t max_bytes = 0) {
    BadSamples bad(BadSample::kSkip);
    const auto error = error_of([&] { read_csv(file, {BadSample::kSkip, max_bytes}, bad); });
    CHECK(error.code() == leyline::ExitCode::kData);
    CHECK_THAT(error.what(), ContainsSubstring(file.string()));
    return std::string(error.what());
  };
  CHECK_THAT(refuse(folder / "none.csv"), ContainsSubstring("No such file"));
  write_file(folder / "empty.csv", "");
  CHECK_THAT(refuse(folder / "empty.csv"), ContainsSubstring("is empty"));
  CHECK_THAT(refuse(folder.path()), ContainsSubstring("is a folder"));
  CHECK_THAT(refuse("/dev/zero"), ContainsSubstring("not a regular file"));
  auto cut = gzip(to_bytes("1,2,a\n3,4,b\n"));
  cut.resize(cut.size() - 9);
  write_file(folder / "cut.csv.gz", cut);
  CHECK_THAT(refuse(folder / "cut.csv.gz"), ContainsSubstring("gzip data end too early"));
  write_file(folder / "bomb.csv.gz", gzip(Bytes(50'000'000, '0')));
  CHECK_THAT(refuse(folder / "bomb.csv.gz", 1'000'000), ContainsSubstring("unfolds to more than the limit"));
  write_file(folder / "giant.csv", "1,2\n");
  std::filesystem::resize_file(folder / "giant.csv", std::uintmax_t{1} << 40);
  CHECK_THAT(refuse(folder / "giant.csv"), ContainsSubstring("over the limit"));
}

}  // namespace
}  // namespace esper::data::test
