#include "engine/exporting/export_program.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "engine/python/find_python.h"
#include "engine/python/json_process.h"
#include "porting/exporter.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::chrono::minutes kDeadline{30};  // the compiler of a large network takes its time

std::string option(const ExportRequest& request) { return fmt::format("--format {}", base::name_of(request.format)); }

json answer_of(const ExportRequest& request, const std::string& python, const std::string& folder,
               const std::string& text) {
  try {
    JsonProcess program({python, "-I", "-B", "-c", std::string(porting::exporter_program())}, folder + "/log");
    return program.ask({{"format", base::name_of(request.format)}, {"folder", folder}, {"text", text}}, kDeadline);
  } catch (const std::runtime_error& error) {
    throw Error(ExitCode::kResources,
                fmt::format("{}: {} could not write it: {}", option(request), python, error.what()));
  }
}

// Throws where it does not say that it was done.
void require_done(const ExportRequest& request, const std::string& python, const json& answer) {
  if (const auto failed = base::text_at(answer, "failed"); !failed.empty()) {
    throw Error(ExitCode::kResources, fmt::format("{}: PyTorch could not write it: {}", option(request), failed));
  }
  const auto& missing = base::member(answer, "missing");
  if (!missing.is_array() || missing.empty()) return;
  const auto names = missing.get<std::vector<std::string>>();
  throw Error(ExitCode::kResources,
              fmt::format("{} needs {}, which {} lacks; install it with: {} -m pip install {}", option(request),
                          base::joined(names, " and "), python, python, base::joined(names, " ")));
}

}  // namespace

std::string require_python(const ExportRequest& request) {
  const auto facts = find_python();
  if (facts.problem.empty()) return facts.path;
  throw Error(ExitCode::kResources, fmt::format("{} needs Python with PyTorch: {}; --format safetensors needs none",
                                                option(request), facts.problem));
}

Checked write_and_check(const ExportRequest& request, const std::string& python, const std::string& folder,
                        const std::string& text) {
  const json answer = answer_of(request, python, folder, text);
  require_done(request, python, answer);
  // JSON has no infinity: what is no number is no agreement.
  const double difference = base::number_at(answer, "difference").value_or(std::numeric_limits<double>::infinity());
  if (!(difference <= porting::kMostDifference)) {
    throw Error(ExitCode::kBug, fmt::format("{}: its outputs differ from Esper's by {:.2g} of the largest, more than "
                                            "{:.0g}; nothing was written",
                                            option(request), difference, porting::kMostDifference));
  }
  return {difference, base::text_at(answer, "checked_by"), base::text_at(answer, "file")};
}

}  // namespace esper::engine
