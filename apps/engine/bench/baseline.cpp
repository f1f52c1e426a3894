// `esper baseline save` and `check`: a scenario's ratios now, kept for later or compared with what was kept.

#include "leyline/baseline.h"

#include <nlohmann/json.hpp>

#include "engine/bench/bench.h"
#include "engine/commands.h"
#include "leyline/error.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

std::string path_for(const EngineRequest& request, const ordered_json& report) {
  return request.bench.baseline + "/" + report.at("environment").at("machine").get<std::string>() + "/" +
         request.bench.scenario + ".json";
}

constexpr std::uint64_t kMostBytes = 16u << 20;

}  // namespace

int save_baseline(const EngineRequest& request) {
  const bench::Scratch scratch;
  const auto report = bench::run_scenario(request.bench, request.config, scratch);
  auto& files = storage::real_file_system();
  const std::string path = path_for(request, report);
  storage::ensure_folder(files, storage::parent_of(path));
  storage::publish_file(files, path, storage::bytes_of(report.dump(2) + "\n"));
  print_line(request.json ? ordered_json{{"saved", path}, {"report", report}}.dump(2) : "saved " + path);
  return 0;
}

int check_baseline(const EngineRequest& request) {
  const bench::Scratch scratch;
  auto& files = storage::real_file_system();
  const auto report = bench::run_scenario(request.bench, request.config, scratch);
  const std::string path = path_for(request, report);
  if (files.kind_of(path) != leyline::PathKind::kFile) {
    throw leyline::Error(leyline::ExitCode::kConfig, "no baseline of this machine and scenario: " + path +
                                                         "; make one with esper baseline save --scenario " +
                                                         request.bench.scenario);
  }
  const auto bytes = storage::read_file(files, path, kMostBytes);
  const auto kept = ordered_json::parse(reinterpret_cast<const char*>(bytes.data()),
                                        reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr, false);
  const auto verdict = leyline::check_against_baseline(kept, report, request.bench.budget);
  print_line(request.json ? verdict.json.dump(2) : verdict.text);
  return verdict.exit_code;
}

}  // namespace esper::engine
