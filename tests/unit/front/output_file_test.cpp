#include "esper/drill/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::test::output_file_test {

using nlohmann::ordered_json;

namespace {

// While it lives standard output goes to the file.
class OutputToFile {
 public:
  explicit OutputToFile(const std::string& path) : own_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(file.is_open());
    ::dup2(file.number(), STDOUT_FILENO);
  }
  ~OutputToFile() { ::dup2(own_.number(), STDOUT_FILENO); }
  OutputToFile(const OutputToFile&) = delete;

 private:
  base::Descriptor own_;
};

// What goes to standard output during the call.
std::string printed_by(const TemporaryFolder& folder, auto&& call) {
  const std::string path = folder / "printed";
  {
    const OutputToFile redirected(path);
    call();
  }
  return read_text(path);
}

const ordered_json kResult{{"equal", true}};

}  // namespace

TEST_CASE("a result is written to its file and printed") {
  const TemporaryFolder folder;
  const std::string file = folder / "result.json";
  int code = -1;
  const auto print_text = [] { print_line("equal"); };
  const auto json = printed_by(folder, [&] { code = write_and_print(file, kResult, Format::kJson, print_text); });
  CHECK(code == 0);
  CHECK(ordered_json::parse(json) == kResult);
  CHECK(ordered_json::parse(read_text(file)) == kResult);
  CHECK(printed_by(folder, [&] { write_and_print("", kResult, Format::kText, print_text); }) == "equal\n");
}

TEST_CASE("a result whose file cannot be written is printed, as one JSON object with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder / "gone/result.json";
  int code = -1;
  const auto print_text = [] { print_line("equal"); };
  const auto printed = printed_by(folder, [&] { code = write_and_print(file, kResult, Format::kJson, print_text); });
  CHECK(code == static_cast<int>(base::ExitCode::kResources));
  const auto json = ordered_json::parse(printed);  // throws where more than one object is there
  CHECK(json.at("equal") == true);
  CHECK(json.at("error").at("exit_code") == code);
  CHECK_THAT(json.at("error").at("text").get<std::string>(), Catch::Matchers::ContainsSubstring("gone/result.json"));
  const auto text = printed_by(folder, [&] { code = write_and_print(file, kResult, Format::kText, print_text); });
  CHECK(text == "equal\n");
  CHECK(code == static_cast<int>(base::ExitCode::kResources));
}

}  // namespace esper::test::output_file_test
