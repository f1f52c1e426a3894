// Programs in place of the Python that reads tables.

#include "data/readers/python_table.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <optional>

#include "data/dataset.h"
#include "support/environment_variable.h"
#include "unit/data/test_files.h"

namespace esper::data::test::python_table_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataKind;

// A Python that does this, for as long as the object lives.
class FakePython {
 public:
  explicit FakePython(const std::string& script) {
    write_file(folder_ / "python", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / "python", std::filesystem::perms::owner_all);
    variable_.emplace("ESPER_PYTHON", folder_ / "python");
  }

 private:
  TempFolder folder_;
  std::optional<esper::test::EnvironmentVariable> variable_;
};

// What is read where the Python does this.
Bytes read_with(const std::string& script, const ReadOptions& options = {}) {
  const FakePython python(script);
  return read_python_table(DataKind::kParquet, "t.parquet", options);
}

std::string complaint(const std::string& script) {
  const auto error = error_of([&] { read_with(script); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

TEST_CASE("a table from Python: the text between its marks, the path as an argument") {
  CHECK(read_with("printf 'ok\\na,b\\n1,2\\nend of the table\\n'") == to_bytes("a,b\n1,2\n"));
  CHECK(read_with("printf 'ok\\n%s,%s\\nend of the table\\n' \"$4\" \"$5\"") == to_bytes("parquet,t.parquet\n"));
}

TEST_CASE("a table from Python: what goes wrong is named, also behind rows") {
  CHECK_THAT(complaint("echo 'error: it is damaged'; exit 1"), ContainsSubstring("t.parquet: it is damaged"));
  CHECK_THAT(complaint("printf 'ok\\na\\n1\\nerror: the rest is damaged\\n'"),
             ContainsSubstring("the rest is damaged"));
  CHECK_THAT(complaint("printf 'ok\\na\\n1\\n'; kill -9 $$"), ContainsSubstring("ended before the end of the table"));
  CHECK_THAT(complaint("exit 3"), ContainsSubstring("ended before the end of the table"));
  CHECK_THAT(complaint("printf 'a\\n1\\nend of the table\\n'"), ContainsSubstring("ended before the end of the table"));
  const esper::test::EnvironmentVariable python("ESPER_PYTHON", "/nowhere/python");
  CHECK_THAT(error_of([] { read_python_table(DataKind::kParquet, "t", {}); }).what(),
             ContainsSubstring("there is no Python at /nowhere/python") && ContainsSubstring("scripts/bootstrap"));
}

TEST_CASE("a saved data set of several parts: its validation part validates, its test part tests") {
  const TempFolder saved;
  for (const std::string part : {"train", "validation", "test"}) write_file(saved / (part + "/state.json"), "{}");
  write_file(saved / "dataset_dict.json", "{}");
  const FakePython python(
      "case $5 in */train) rows='1,a\\n2,b\\n';; */validation) rows='3,b\\n';; */test) rows='4,a\\n';; esac\n"
      "printf \"ok\\nx,kind\\n${rows}end of the table\\n\"");
  config::DataConfig config;
  config.kind = DataKind::kDatasets;
  config.path = config.test_path = saved.path();
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(torch::equal(splits.train.inputs, torch::tensor({{1.f}, {2.f}})));
  CHECK(splits.validation.inputs.item<float>() == 3);
  CHECK(splits.test->inputs.item<float>() == 4);
}

TEST_CASE("a table from Python that does not fit into memory is refused") {
  const auto error = error_of([] { read_with("yes", {.bad_sample = config::BadSample::kFail, .max_bytes = 4 << 20}); });
  CHECK(error.code() == base::ExitCode::kResources);
  CHECK_THAT(error.what(), ContainsSubstring("its rows as text"));
}

}  // namespace
}  // namespace esper::data::test::python_table_test
