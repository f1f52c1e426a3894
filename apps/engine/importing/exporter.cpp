#include "engine/importing/exporter.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/text/child_process.h"
#include "base/text/line_channel.h"
#include "embedded_exporter_command.h"
#include "embedded_exporter_description.h"
#include "embedded_exporter_example.h"
#include "embedded_exporter_main.h"
#include "embedded_exporter_models.h"
#include "embedded_exporter_programs.h"
#include "embedded_exporter_refusal.h"
#include "engine/python/find_python.h"
#include "engine/scratch.h"

namespace esper::engine {
namespace {

constexpr base::Duration kLongest = std::chrono::minutes(10);
constexpr base::Duration kLongestExporterEnd = std::chrono::seconds(5);

constexpr std::array kFiles{std::pair{"__main__.py", exporter::kMain},
                            std::pair{"esper_exporter/command.py", exporter::kCommand},
                            std::pair{"esper_exporter/description.py", exporter::kDescription},
                            std::pair{"esper_exporter/example.py", exporter::kExample},
                            std::pair{"esper_exporter/models.py", exporter::kModels},
                            std::pair{"esper_exporter/programs.py", exporter::kPrograms},
                            std::pair{"esper_exporter/refusal.py", exporter::kRefusal}};

[[noreturn]] void refuse_exporter(base::ExitCode code, const std::string& text) { throw base::Error(code, text); }

std::string write_program(const Scratch& scratch) {
  const std::string folder = scratch.path("exporter");
  std::filesystem::create_directories(folder + "/esper_exporter");
  for (const auto& [name, text] : kFiles) std::ofstream(folder + "/" + name, std::ios::binary) << text;
  return folder;
}

std::string last_lines(const std::string& log) {
  constexpr std::size_t kMost = 2000;
  std::ifstream file(log, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

// Its one line of output.
std::string answer_of(const std::vector<std::string>& command, const std::string& log) {
  base::Descriptor theirs;
  base::LineChannel channel(theirs);
  const base::Descriptor errors(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  constexpr int kOutput = 1, kErrors = 2;
  const pid_t child = base::start_child({command, {{kOutput, theirs.number()}, {kErrors, errors.number()}}});
  theirs.reset();
  std::string answer;
  const auto read = channel.read_line(answer, kLongest);
  const std::string end = base::end_group(child, kLongestExporterEnd);
  if (read == base::LineChannel::Read::kTimeout) {
    refuse_exporter(base::ExitCode::kResources, "the import takes longer than ten minutes; import a smaller model");
  }
  if (read != base::LineChannel::Read::kLine) {
    refuse_exporter(base::ExitCode::kResources,
                    fmt::format("the Python process of the import ended without an answer ({}); it printed: {}", end,
                                last_lines(log)));
  }
  return answer;
}

}  // namespace

nlohmann::json run_exporter(std::vector<std::string> arguments, const std::string& folder) {
  const PythonFacts python = find_python();
  if (!python.problem.empty())
    refuse_exporter(base::ExitCode::kResources, "an import needs Python with torch: " + python.problem);
  const Scratch scratch;
  std::vector<std::string> command{python.path, "-I", write_program(scratch)};
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  command.push_back("--out=" + folder);
  const std::string answer = answer_of(command, scratch.path("log"));
  auto said = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object())
    refuse_exporter(base::ExitCode::kResources, "the answer of the import's Python process is not a JSON object");
  if (said.contains("refused")) refuse_exporter(base::ExitCode::kConfig, said.at("refused").get<std::string>());
  return said;
}

}  // namespace esper::engine
