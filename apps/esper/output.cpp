#include "esper/output.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "leyline/names.h"
#include "leyline/printable.h"
#include "leyline/standard_output.h"
#include "leyline/text_outlet.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

ordered_json problem_json(const leyline::Problem& problem) {
  return {{"file", problem.place.file},
          {"line", problem.place.line},
          {"column", problem.place.column},
          {"path", problem.path},
          {"text", problem.text}};
}

}  // namespace

void print(std::string_view text) { leyline::write_text(text); }

void print_line(std::string_view text) { leyline::write_line(text); }

void print_json(const ordered_json& json) { leyline::write_json(json); }

void print_ok(std::string_view text) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool coloured = (no_colour == nullptr || *no_colour == '\0') && isatty(STDOUT_FILENO) == 1;
  leyline::write_output((coloured ? "\033[32mOK\033[0m " : "OK ") + leyline::printable_line(text) + "\n");
}

int report_error(leyline::ExitCode code, const std::string& text, const std::vector<leyline::Problem>& problems,
                 Format format) {
  if (format == Format::kJson) {
    ordered_json list = ordered_json::array();
    for (const leyline::Problem& problem : problems) list.push_back(problem_json(problem));
    try {
      print_json(ordered_json{{"error",
                               {{"code", std::string(leyline::name_of(code))},
                                {"exit_code", static_cast<int>(code)},
                                {"text", text},
                                {"problems", std::move(list)}}}});
    } catch (const std::exception&) {  // standard output cannot be written; the words below and the status tell it
    }
  }
  leyline::print_failure(text);
  return static_cast<int>(code);
}

}  // namespace esper
