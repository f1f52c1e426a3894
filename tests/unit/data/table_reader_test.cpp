#include "data/readers/table_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "data/dataset.h"
#include "unit/data/test_files.h"

namespace esper::data::test::table_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;
using config::DataConfig;
using config::DataKind;
using config::MissingValue;
using config::Task;

constexpr char kHouses[] =
    "area,city,rooms,kind\n"
    "50,Bern,2,flat\n"
    "120,Basel,5,house\n"
    "80,Bern,3,flat\n"
    "200,Chur,8,house\n";

class Table {
 public:
  explicit Table(const std::string& text = kHouses, const std::string& validation = kHouses) {
    write_file(folder_ / "t.csv", text);
    write_file(folder_ / "v.csv", validation);
    config.kind = DataKind::kTable;
    config.path = folder_ / "t.csv";
    config.validation_path = folder_ / "v.csv";
    config.columns.categorical = {"city"};
  }

  Splits load(Task task = Task::kClassification, TestPart test = TestPart::kUnread) const {
    return load_dataset(config, test, task);
  }
  std::string complaint(base::ExitCode code = base::ExitCode::kData, Task task = Task::kClassification) const {
    const auto error = error_of([&] { load(task); });
    CHECK(error.code() == code);
    return error.what();
  }
  std::filesystem::path file(const std::string& name, const std::string& text) const {
    write_file(folder_ / name, text);
    return folder_ / name;
  }

  DataConfig config;

 private:
  TempFolder folder_;
};

std::vector<float> row(const Dataset& set, std::int64_t number) {
  const auto* begin = set.inputs[number].const_data_ptr<float>();
  return {begin, begin + set.inputs.size(1)};
}

TEST_CASE("table: columns by name, words as inputs of 0 and 1, classes by name") {
  const Table table;
  const auto splits = table.load();
  CHECK(splits.train.shape == leyline::features_shape(5, 2));
  CHECK(splits.train.class_names == std::vector<std::string>{"flat", "house"});
  CHECK(row(splits.train, 0) == std::vector<float>{50, 0, 1, 0, 2});
  CHECK(row(splits.train, 3) == std::vector<float>{200, 0, 0, 1, 8});
  CHECK(torch::equal(splits.train.targets, torch::tensor({0, 1, 0, 1}, torch::kInt64)));
  CHECK(splits.train.table.inputs.at(1).words == std::vector<std::string>{"Basel", "Bern", "Chur"});
}

TEST_CASE("table: an unknown word is none of the known ones, and columns may change places") {
  const Table table(kHouses, "kind,city,more,rooms,area\nhouse,Genf,x,4,90\n");
  const auto splits = table.load();
  CHECK(row(splits.validation, 0) == std::vector<float>{90, 0, 0, 0, 4});
}

TEST_CASE("table: chosen features in their order, and another target") {
  Table table;
  table.config.columns = {.target = {"city"}, .features = {"rooms", "area"}, .categorical = {}};
  const auto splits = table.load();
  CHECK(row(splits.train, 1) == std::vector<float>{5, 120});
  CHECK(splits.train.class_names == std::vector<std::string>{"Basel", "Bern", "Chur"});
}

TEST_CASE("table: several targets, numbers or labels") {
  const std::string text = "x,price,warm,big\n1,10.5,0,1\n2,-3,1,1\n";
  Table table(text, text);
  table.config.columns = {.target = {"price", "x"}, .features = {"warm"}, .categorical = {}};
  const auto numbers = table.load(Task::kRegression);
  CHECK(numbers.train.shape == leyline::features_shape(1, 2));
  CHECK(torch::equal(numbers.train.targets, torch::tensor({{10.5f, 1.f}, {-3.f, 2.f}})));
  CHECK(numbers.train.class_names == std::vector<std::string>{"price", "x"});
  table.config.columns = {.target = {"warm", "big"}, .features = {"x"}, .categorical = {}};
  CHECK(torch::equal(table.load(Task::kMultilabel).train.targets, torch::tensor({{0.f, 1.f}, {1.f, 1.f}})));
  CHECK_THAT(table.complaint(base::ExitCode::kConfig),
             ContainsSubstring("data.columns.target: task classification has one target, not 2"));
  table.config.columns.target = {"price"};
  CHECK_THAT(table.complaint(base::ExitCode::kData, Task::kMultilabel),
             ContainsSubstring("t.csv: line 2, column \"price\": a target of task multilabel must be 0 or 1"));
}

TEST_CASE("table: empty cells fail, or become the training part's mean, or zero; an empty word is a word") {
  const std::string text = "a,city,kind\n1,,x\n,Bern,y\n3,Bern,x\n";
  Table table(text, "a,city,kind\nNA,,x\n100,Bern,x\n");
  CHECK_THAT(table.complaint(), ContainsSubstring("line 3, column \"a\": the cell is empty; data.columns.missing"));
  table.config.columns.missing = MissingValue::kMean;
  const auto mean = table.load();
  CHECK(row(mean.train, 1) == std::vector<float>{2, 0, 1});
  CHECK(row(mean.train, 0) == std::vector<float>{1, 1, 0});
  CHECK(row(mean.validation, 0) == std::vector<float>{2, 1, 0});
  table.config.columns.missing = MissingValue::kZero;
  CHECK(row(table.load().validation, 0) == std::vector<float>{0, 1, 0});
  table.config.path = table.file("empty.csv", "a,city,kind\n,,x\n,Bern,y\n");
  table.config.columns.missing = MissingValue::kMean;
  CHECK_THAT(table.complaint(), ContainsSubstring("column \"a\": all its cells in the training part are empty"));
}

TEST_CASE("table: words and means are those of the training part alone") {
  std::string text = "a,city,kind\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(i) + ",c" + std::to_string(i) + "," + (i % 2 ? "x" : "y") + "\n";
  Table table(text);
  table.config.validation_path.clear();
  table.config.validation_fraction = 0.25;
  const auto splits = table.load();
  CHECK(splits.train.shape.features == 31);
  CHECK(splits.validation.inputs.narrow(1, 1, 30).abs().sum().item<float>() == 0);
  CHECK(splits.train.inputs.narrow(1, 1, 30).sum().item<float>() == 30);
}

TEST_CASE("table: a file with other separators than commas is named as such") {
  Table table("area;city;kind\n50;Bern;flat\n");
  CHECK_THAT(table.complaint(base::ExitCode::kConfig),
             ContainsSubstring("has no column \"city\"; the line holds semicolons: convert the file"));
  table.config.columns.categorical = {};
  CHECK_THAT(table.complaint(), ContainsSubstring("no column besides the target; the line holds semicolons: convert"));
}

TEST_CASE("table: what a row lacks is named by line and column") {
  const auto complaint = [](const std::string& text) { return Table(text).complaint(); };
  CHECK_THAT(complaint("area,city,rooms,kind\n50,Bern,two,flat\n"),
             ContainsSubstring("t.csv: line 2, column \"rooms\": expected a number, found \"two\"; columns of words"));
  CHECK_THAT(complaint("area,city,rooms,kind\n50,Bern,inf,flat\n"), ContainsSubstring("is not a finite number"));
  CHECK_THAT(complaint("area,city,rooms,kind\n50,Bern,1,\n"),
             ContainsSubstring("line 2, column \"kind\": the target is missing"));
  CHECK_THAT(complaint("area,city,rooms,kind\n50,Bern,1,0.5\n"),
             ContainsSubstring("a whole number or a name") && ContainsSubstring("task: regression") &&
                 ContainsSubstring("data.columns.target names the column with the class"));
  CHECK_THAT(complaint("area,city,rooms,kind\n50,Bern,1\n"),
             ContainsSubstring("line 2: the line has 3 fields, the header names 4"));
  CHECK_THAT(complaint("area,city,area,kind\n"), ContainsSubstring("two columns are called \"area\""));
  CHECK_THAT(complaint("area,city,,kind\n"),
             ContainsSubstring("line 1, field 3: the column has no name") && !ContainsSubstring("pandas"));
  CHECK_THAT(complaint(",area,city,kind\n"), ContainsSubstring("line 1, field 1: the column has no name; if it is the "
                                                               "index that pandas writes: to_csv(..., index=False)"));
  CHECK_THAT(complaint("area,city,rooms,kind\n"), ContainsSubstring("t.csv: too few samples (0)"));
  CHECK_THAT(Table(kHouses, "area,rooms,kind\n1,2,flat\n").complaint(),
             ContainsSubstring("v.csv: line 1: has no column \"city\""));
  CHECK_THAT(Table(kHouses, "area,city,rooms,kind\n1,Bern,2,tent\n").complaint(),
             ContainsSubstring("v.csv: line 2: class \"tent\" does not occur in the training data"));
}

TEST_CASE("table: columns that are not there are mistakes of the run file") {
  Table table;
  table.config.columns.categorical = {"citi"};
  CHECK_THAT(table.complaint(base::ExitCode::kConfig),
             ContainsSubstring("data.columns.categorical: ") && ContainsSubstring("did you mean \"city\"?"));
  table.config.columns = {.target = {"kind"}, .features = {"kind", "area"}, .categorical = {}};
  CHECK_THAT(table.complaint(base::ExitCode::kConfig), ContainsSubstring("\"kind\" is a target as well"));
  table.config.columns = {.target = {}, .features = {"area"}, .categorical = {"city"}};
  CHECK_THAT(table.complaint(base::ExitCode::kConfig), ContainsSubstring("\"city\" is not one of the features"));
}

TEST_CASE("table: rows that cannot be read are skipped and counted, and leave no word behind") {
  Table table("area,city,rooms,kind\n50,Bern,2,flat\nx,Genf,3,flat\n1,2\n60,Basel,1,house\n");
  table.config.bad_sample = BadSample::kSkip;
  table.config.validation_path = table.file("w.csv", "area,city,rooms,kind\n50,Bern,2,flat\n");
  const auto splits = table.load();
  CHECK(splits.skipped == 2);
  CHECK(num_samples(splits.train) == 2);
  CHECK(splits.train.table.inputs.at(1).words == std::vector<std::string>{"Basel", "Bern"});
}

TEST_CASE("table: a class that only the validation part has is named") {
  std::string text = "a,kind\n";
  for (int i = 0; i < 20; ++i) text += "1,c" + std::to_string(i) + "\n";
  Table table(text);
  table.config.columns.categorical.clear();
  table.config.validation_path.clear();
  CHECK_THAT(table.complaint(), ContainsSubstring("does not occur in the training part; another data.split_seed"));
}

TEST_CASE("table: the test part is encoded as the training part is") {
  Table table;
  table.config.test_path = table.file("test.csv", "area,city,rooms,kind\n1,Chur,2,house\n");
  CHECK(!table.load().test);
  const auto splits = table.load(Task::kClassification, TestPart::kRead);
  CHECK(row(*splits.test, 0) == std::vector<float>{1, 0, 0, 1, 2});
  CHECK(splits.test->table.inputs.size() == 3);
}

TEST_CASE("table: an encoding goes through a file, and new rows need no target") {
  const Table table;
  const auto kept = base::to_json(table.load().train.table).dump();
  const auto encoding = base::from_json<TableEncoding>(nlohmann::json::parse(kept));
  REQUIRE(encoding);
  BadSamples bad(BadSample::kFail);
  const auto file = table.file("new.csv", "city,rooms,area\nBasel,1,30\nGenf,2,40\n");
  const auto rows = encode_table(file, *encoding, {}, bad);
  CHECK(rows.values == std::vector<float>{30, 1, 0, 0, 1, 40, 0, 0, 0, 2});
  CHECK(rows.lines == std::vector<std::int64_t>{2, 3});
  CHECK_THAT(error_of([&] { encode_table(table.file("b.csv", "city,area\nBern,1\n"), *encoding, {}, bad); }).what(),
             ContainsSubstring("has no column \"rooms\""));
}

TEST_CASE("table: gzip, a byte-order mark and quotes change nothing") {
  Table table;
  const auto plain = table.load().train;
  const auto gz = table.file("t.csv.gz", "");
  write_file(gz,
             gzip(to_bytes(std::string("\xef\xbb\xbf") + "\"area\",city,rooms,kind\r\n50, \"Bern\" ,2,flat\r\n"
                                                         "120,Basel,5,house\r\n80,Bern,3,flat\r\n200,Chur,8,house")));
  table.config.path = gz;
  CHECK(torch::equal(table.load().train.inputs, plain.inputs));
}

}  // namespace
}  // namespace esper::data::test::table_reader_test
