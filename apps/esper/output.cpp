#include "esper/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "leyline/names.h"
#include "leyline/standard_output.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

// File names on a command line may hold any bytes; JSON may not.
std::string dumped(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json problem_json(const leyline::Problem& problem) {
  return {{"file", problem.place.file},
          {"line", problem.place.line},
          {"column", problem.place.column},
          {"path", problem.path},
          {"text", problem.text}};
}

}  // namespace

void print(std::string_view text) { leyline::write_output(text); }

void print_json(const ordered_json& json) { print(dumped(json) + "\n"); }

std::string coloured(std::string_view text, Colour colour, Stream stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool wanted = no_colour == nullptr || *no_colour == '\0';
  if (!wanted || isatty(stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO) == 0) return std::string(text);
  return std::string(colour == Colour::kRed ? "\033[31m" : "\033[32m") + std::string(text) + "\033[0m";
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
  std::fprintf(stderr, "%s %s\n", coloured("esper:", Colour::kRed, Stream::kError).c_str(), text.c_str());
  return static_cast<int>(code);
}

}  // namespace esper
