// `esper baseline save` and `check`: a scenario's ratios now, kept for later or compared with what was kept.

#include "history/baseline.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/standard_output.h"
#include "engine/bench/bench.h"
#include "engine/bench/clean_end.h"
#include "engine/bench/output_folder.h"
#include "engine/commands.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::ordered_json;

constexpr std::uint64_t kMostBaselineBytes = 16u << 20;

// Of the baseline of this machine and scenario.
std::string path_in(const std::string& folder, const ordered_json& header) {
  return fmt::format("{}/{}/{}.json", folder, header.at("environment").at("machine").get<std::string>(),
                     header.at("scenario").get<std::string>());
}

// The kept report, found to be of this workload and machine.
ordered_json read_kept(base::FileSystem& files, const CheckBaselineRequest& request, const ordered_json& header) {
  const std::string path = path_in(request.folder, header);
  if (files.kind_of(path) != base::PathKind::kFile) {
    throw Error(
        ExitCode::kConfig,
        fmt::format("no baseline for this machine and scenario: {}; create one with esper baseline save --scenario {}",
                    path, request.comparison.scenario));
  }
  const auto bytes = storage::read_file(files, path, kMostBaselineBytes);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  auto kept = ordered_json::parse(begin, begin + bytes.size(), nullptr, false);
  const auto whole = kept.is_discarded() ? base::failure("it is not JSON") : history::check_report(kept);
  if (!whole) {
    throw Error(ExitCode::kData,
                fmt::format("the baseline {} is damaged: {}; recreate it with esper baseline save --replace", path,
                            whole.error()));
  }
  if (const auto same = history::check_same_measurement(kept, header); !same) {
    throw Error(ExitCode::kConfig,
                fmt::format("the baseline {} and this measurement cannot be compared: {}; use the configuration it was "
                            "saved with, or replace it with esper baseline save --replace",
                            path, same.error()));
  }
  return kept;
}

void refuse_to_overwrite(base::FileSystem& files, const SaveBaselineRequest& request, const std::string& path) {
  if (request.replace || files.kind_of(path) == base::PathKind::kNothing) return;
  throw Error(ExitCode::kConfig,
              "a baseline exists already: " + path + "; --replace overwrites it, --dir saves to another folder");
}

}  // namespace

int run(const SaveBaselineRequest& request) {
  const Scratch scratch(request.job.cache_dir);
  const bench::CleanEnd clean_end(scratch, request.job);
  auto& files = storage::real_file_system();
  const auto session = bench::open_session(request.comparison, request.job.config, scratch);
  const std::string path = path_in(request.folder, session.header);
  refuse_to_overwrite(files, request, path);
  bench::open_output_folder(files, storage::parent_of(path), "--dir");
  const auto report = bench::run_scenario(session, scratch, Measured::kTimes);
  if (const auto whole = history::check_report(report); !whole) {
    throw Error(ExitCode::kResources, "this measurement cannot be a baseline: " + whole.error());
  }
  storage::publish_file(files, path, storage::bytes_of(report.dump(2) + "\n"));
  if (request.job.json) {
    base::write_json({{"saved", path}, {"report", report}});
  } else {
    base::write_line("saved " + path);
  }
  return 0;
}

int run(const CheckBaselineRequest& request) {
  const Scratch scratch(request.job.cache_dir);
  const bench::CleanEnd clean_end(scratch, request.job);
  const auto session = bench::open_session(request.comparison, request.job.config, scratch);
  const auto kept = read_kept(storage::real_file_system(), request, session.header);
  const auto report = bench::run_scenario(session, scratch, Measured::kTimes);
  const auto verdict = history::check_against_baseline(kept, report, request.budget);
  request.job.json ? base::write_json(verdict.json) : base::write_text(verdict.text + "\n");
  return verdict.exit_code;
}

}  // namespace esper::engine
