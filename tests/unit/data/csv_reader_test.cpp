#include "data/readers/csv_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::csv_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;

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
  CHECK(error.code() == base::ExitCode::kData);
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

TEST_CASE("csv: spaces and tabs around a field do not count, quoted or not") {
  const auto r = read(" \"1\" ,\t2 , \"a,b\"\t\r\n3, \"4\",c \n5,6,\" c\" ");
  CHECK(values_of(r) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(r.samples.class_names == std::vector<std::string>{"a,b", "c"});
  CHECK(r.samples.labels == std::vector<std::int64_t>{0, 1, 1});
  CHECK_THAT(complaint("1, \"a\" b\n"), ContainsSubstring("line 1, field 2: text after a closing quote"));
  CHECK_THAT(complaint("1, a \"b\"\n"), ContainsSubstring("line 1, field 2: a quote inside"));
}

TEST_CASE("csv: a number that is too close to 0 is 0") {
  CHECK(values_of(read("1e-400,-1e-400,a\n1e-60,2,b\n")) == std::vector<float>{0, 0, 0, 2});
}

TEST_CASE("csv: an error names line and field") {
  CHECK_THAT(complaint("1,2,a\n3,x,b\n"), ContainsSubstring("a.csv: line 2, field 2: expected a number, found \"x\""));
  CHECK_THAT(complaint("1,2,a\n3,b\n"),
             ContainsSubstring("line 2, field 2: the line has 2 fields, the first sample has 3"));
  CHECK_THAT(complaint("1,2,a\n3,nan,b\n"), ContainsSubstring("line 2, field 2"));
  CHECK_THAT(complaint("1,2,a\n3,1e999,b\n"), ContainsSubstring("line 2, field 2"));
  CHECK_THAT(complaint("1,2,a\n,4,b\n"), ContainsSubstring("line 2, field 1"));
  CHECK_THAT(complaint("1,2,a\n\n333,4,\n"), ContainsSubstring("line 3, field 3: the class is missing"));
  CHECK_THAT(complaint("1,2,0.5\n"),
             ContainsSubstring("found \"0.5\"; other numbers are targets of task: regression; the class is the last"));
  CHECK_THAT(complaint("1,a\"b,c\n"), ContainsSubstring("line 1, field 2: a quote inside"));
  CHECK_THAT(complaint("1,\"a\"b\n"), ContainsSubstring("line 1, field 2: text after a closing quote"));
  CHECK_THAT(complaint("1,2\n3,\"a\n\n4,5\n"), ContainsSubstring("line 2, field 2: unterminated quoted field"));
  CHECK_THAT(complaint("1\n2\n"), ContainsSubstring("line 1, field 1: one field") && !ContainsSubstring("convert"));
  CHECK_THAT(complaint("1;2;a\n3;4;b\n"), ContainsSubstring("the line holds semicolons: convert the file"));
  CHECK_THAT(complaint("1\t2\ta\n"), ContainsSubstring("the line holds tabs: convert the file"));
  CHECK_THAT(complaint("1,2,a\nb,3,4\n"), ContainsSubstring("found \"b\"; the class is the last field"));
}

TEST_CASE("csv: a first line that is neither header nor sample is refused with the way out, and can be skipped") {
  // As scikit-learn writes its data sets: counts, then the classes' names.
  const std::string lines = "178,3,class_0,class_1\n14.2,1.7,2.4,0\n13.2,1.8,2.1,1\n";
  CHECK_THAT(complaint(lines),
             ContainsSubstring("line 1, field 3: expected a number, found \"class_0\"; if the line is "
                               "a header, remove it"));
  const auto r = read("178,class_0,class_1\n" + lines.substr(lines.find('\n') + 1), BadSample::kSkip);
  CHECK(r.skipped == 1);
  CHECK(r.samples.sizes == std::vector<std::int64_t>{3});
  CHECK(r.samples.labels == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("csv: a header with another number of fields is refused, and can be skipped") {
  const std::string lines = "height,kind\n1,2,0\n3,4,1\n";
  CHECK_THAT(complaint(lines), ContainsSubstring("a.csv: line 1: the header has 2 fields, the first sample has 3"));
  const auto r = read(lines, BadSample::kSkip);
  CHECK(r.skipped == 1);
  CHECK(r.samples.labels.size() == 2);
}

TEST_CASE("csv: a header whose columns are numbers is told by the name of the class's column") {
  const std::string lines = "0,1,class\n5,6,1\n7,8,0\n";
  CHECK_THAT(complaint(lines), ContainsSubstring("line 1, field 3: class \"class\" is a name, but those of all other"));
  const auto r = read(lines, BadSample::kSkip);
  CHECK(r.skipped == 1);
  CHECK(values_of(r) == std::vector<float>{5, 6, 7, 8});
  CHECK(r.samples.class_names == std::vector<std::string>{"0", "1"});
  CHECK(r.samples.labels == std::vector<std::int64_t>{1, 0});
  CHECK(read("0,1,cat\n5,6,1\n7,8,cat\n").samples.labels == std::vector<std::int64_t>{1, 0, 1});
}

TEST_CASE("csv: a header that is numbers throughout is told by the names of the classes below it") {
  const std::string lines = "0,1,2\n5,6,cat\n7,8,ant\n";
  CHECK_THAT(complaint(lines), ContainsSubstring("line 1, field 3: class \"2\" is a number, but those of all other"));
  const auto r = read(lines, BadSample::kSkip);
  CHECK(r.skipped == 1);
  CHECK(values_of(r) == std::vector<float>{5, 6, 7, 8});
  CHECK(r.samples.class_names == std::vector<std::string>{"ant", "cat"});
  CHECK(r.samples.labels == std::vector<std::int64_t>{1, 0});
  // One number among names is no header: below a header, in a later line, or twice.
  for (const std::string fine :
       {"x,y,kind\n0,1,2\n5,6,cat\n", "5,6,cat\n0,1,2\n3,4,cat\n", "0,1,2\n5,6,cat\n7,8,2\n"}) {
    CAPTURE(fine);
    CHECK(read(fine).samples.class_names == std::vector<std::string>{"2", "cat"});
  }
  // Nor is it one where the first line could not be read.
  const auto later = read(std::string("a,1,x\n0,1,2\n5,6,cat\n7,8,cat\n"), BadSample::kSkip);
  CHECK(later.skipped == 1);
  CHECK(later.samples.class_names == std::vector<std::string>{"2", "cat"});
}

TEST_CASE("csv: UTF-16 is named, and is not skipped line by line") {
  for (const Bytes& mark : {Bytes{0xff, 0xfe}, Bytes{0xfe, 0xff}}) {
    auto text = mark;
    for (const char c : std::string("1,2,a\n")) text.insert(text.end(), {static_cast<std::uint8_t>(c), 0});
    for (const auto& file : {text, gzip(text)}) {
      const auto error = error_of([&] { read(file, BadSample::kSkip); });
      CHECK(error.code() == base::ExitCode::kData);
      CHECK_THAT(error.what(), ContainsSubstring("a.csv: is UTF-16 text; save it as UTF-8"));
    }
  }
}

TEST_CASE("csv: bad lines are skipped and counted where that is allowed") {
  const auto r = read("1,2,a\nx,2,a\n3\n4,5,\"b\n6,7,c\n8,9,1.5\n", BadSample::kSkip);
  CHECK(values_of(r) == std::vector<float>{1, 2, 6, 7});
  CHECK(r.samples.class_names == std::vector<std::string>{"a", "c"});
  CHECK(r.skipped == 4);
}

TEST_CASE("files that are missing, empty, no files, damaged or too large are refused with a reason") {
  const TempFolder folder;
  const auto refuse = [&](const std::filesystem::path& file, std::int64_t max_bytes = 0,
                          base::ExitCode code = base::ExitCode::kData) {
    BadSamples bad(BadSample::kSkip);
    const auto error = error_of([&] { read_csv(file, {BadSample::kSkip, max_bytes}, bad); });
    CHECK(error.code() == code);
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
  CHECK_THAT(refuse(folder / "cut.csv.gz"), ContainsSubstring("gzip data are truncated"));
  constexpr auto kResources = base::ExitCode::kResources;
  write_file(folder / "bomb.csv.gz", gzip(Bytes(50'000'000, '0')));
  CHECK_THAT(
      refuse(folder / "bomb.csv.gz", 1'048'576, kResources),
      ContainsSubstring("of gzip data decompress to would take more than 1 MiB of memory, and 1 MiB may be used"));
  write_file(folder / "wide.csv", to_bytes("0" + std::string(300'000, ',')));
  CHECK_THAT(refuse(folder / "wide.csv", 1'048'576, kResources), ContainsSubstring("its samples would take 1 MiB"));
  std::string names;
  for (int i = 0; i < 4000; ++i) names += "0,name_" + std::to_string(i) + "\n";
  write_file(folder / "names.csv", names);
  CHECK_THAT(refuse(folder / "names.csv", 1'048'576, kResources), ContainsSubstring("its class names"));
  write_file(folder / "giant.csv", "1,2\n");
  std::filesystem::resize_file(folder / "giant.csv", std::uintmax_t{1} << 40);
  CHECK_THAT(refuse(folder / "giant.csv", 0, kResources), ContainsSubstring("1048576 MiB of memory"));
}

}  // namespace
}  // namespace esper::data::test::csv_reader_test
