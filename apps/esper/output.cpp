#include "esper/output.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

ordered_json problem_json(const base::Problem& problem) {
  return {{"file", problem.place.file},
          {"line", problem.place.line},
          {"column", problem.place.column},
          {"path", problem.path},
          {"text", problem.text}};
}

}  // namespace

void print(std::string_view text) { base::write_text(text); }

void print_line(std::string_view text) { base::write_line(text); }

void print_json(const ordered_json& json) { base::write_json(json); }

bool has_coloured_output() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && isatty(STDOUT_FILENO) == 1;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void print_ok(std::string_view text) {
  base::write_output((has_coloured_output() ? "\033[32mOK\033[0m " : "OK ") + base::printable_line(text) + "\n");
}

ordered_json problems_json(const std::vector<base::Problem>& problems) {
  ordered_json list = ordered_json::array();
  for (const base::Problem& problem : problems) list.push_back(problem_json(problem));
  return list;
}

ordered_json error_json(base::ExitCode code, const std::string& text, const std::vector<base::Problem>& problems) {
  return {{"code", std::string(base::name_of(code))},
          {"exit_code", static_cast<int>(code)},
          {"text", text},
          {"problems", problems_json(problems)}};
}

int report_error(base::ExitCode code, const std::string& text, const std::vector<base::Problem>& problems,
                 Format format) {
  if (format == Format::kJson) {
    try {
      print_json(ordered_json{{"error", error_json(code, text, problems)}});
    } catch (const base::Error& lost) {
      if (lost.what() != text) base::print_failure(lost.what());
    } catch (const std::exception&) {  // the message below and the exit status report it
    }
  }
  base::print_failure(text);
  return static_cast<int>(code);
}

}  // namespace esper
