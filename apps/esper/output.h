#pragma once
// The front's output: results on stdout, errors on stderr; with --json everything as one JSON object on stdout, and
// errors on stderr, too.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/problem.h"

namespace esper {

enum class Format { kText, kJson };

// As base::write_text(), write_line() and write_json().
void print(std::string_view text);
void print_line(std::string_view text);
void print_json(const nlohmann::ordered_json& json);
// Standard output is a terminal, and NO_COLOR is not set.
bool has_coloured_output();
// "1 job", "2 jobs"
std::string counted(std::size_t count, const std::string& what);
// "OK TEXT", in green where that holds.
void print_ok(std::string_view text);

// [{"file", "line", "column", "path", "text"}]
nlohmann::ordered_json problems_json(const std::vector<base::Problem>& problems);
// {"code", "exit_code", "text", "problems"}: an error as the member "error" of what is printed with --json.
nlohmann::ordered_json error_json(base::ExitCode code, const std::string& text,
                                  const std::vector<base::Problem>& problems = {});
// Prints the error on stderr, with kJson on stdout as well, and returns its exit code.
int report_error(base::ExitCode code, const std::string& text, const std::vector<base::Problem>& problems,
                 Format format);

}  // namespace esper
