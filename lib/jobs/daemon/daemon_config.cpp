#include "jobs/daemon/daemon_config.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text/byte_size.h"
#include "config/fields/field_rows.h"
#include "config/loading/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::int64_t kSmallestLog = 64 << 10;

void take_findings(const DaemonConfig& config, config::SectionReader& reader,
                   const std::vector<base::Problem>& problems) {
  config::Findings findings;
  config.validate(findings);
  for (auto& finding : findings) {
    // A field that could not be read has the value from before.
    if (std::ranges::find(problems, finding.path, &base::Problem::path) == problems.end())
      reader.report(finding.path, std::move(finding.text));
  }
}

LoadedDaemonConfig read_daemon_document(const config::YamlDocument& document, const std::string& file) {
  LoadedDaemonConfig out{.config = {}, .problems = document.problems};
  std::vector<config::FieldRow> rows;
  config::append_rows(out.config, "", rows);
  config::SectionReader reader(std::move(rows), out.problems);
  // A file with nothing but comments has all defaults.
  if (document.root.kind != config::YamlNode::Kind::kNull) reader.read(document.root);
  if (reader.is_given("gpus")) out.config.gpu_choice = GpuChoice::kListed;
  take_findings(out.config, reader, out.problems);
  std::ranges::stable_sort(out.problems, {}, [](const base::Problem& problem) {
    return std::pair(problem.place.line, problem.place.column);
  });
  std::string& token = out.config.http.token_file;
  if (!token.empty()) {
    const auto folder = std::filesystem::absolute(file).parent_path();
    token = (folder / token).lexically_normal().string();
  }
  return out;
}

}  // namespace

void DaemonConfig::validate(config::Findings& out) const {
  if (!base::parse_byte_size(memory))
    out.push_back({"memory", "needs a whole number and a unit, like 64GiB or 500MiB, or 0 for the machine's", {}});
  for (const auto& [field, text] : {std::pair("keep_memory", keep_memory), std::pair("keep_disk", keep_disk)}) {
    if (!base::parse_byte_size(text))
      out.push_back({field, "needs a whole number and a unit, like 2GiB or 500MiB, or 0", {}});
  }
  if (look_again < std::chrono::milliseconds(100))
    out.push_back({"look_again", "needs at least 100ms, so that a waiting job does not keep the machine busy", {}});
  if (const auto size = base::parse_byte_size(log_max_size); !size || *size < kSmallestLog)
    out.push_back({"log_max_size", "needs a whole number and a unit, like 10MiB, and at least 64KiB", {}});
  std::vector<std::int64_t> sorted = gpus;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    out.push_back({"gpus", "has a number twice; give each GPU once", {}});
  if (!http.token_file.empty() && http.port == 0)
    out.push_back({"http.token_file", "has no effect without http.port; add a port, or remove this line", {}});
}

std::int64_t DaemonConfig::memory_bytes() const { return base::parse_byte_size(memory).value(); }
std::int64_t DaemonConfig::keep_memory_bytes() const { return base::parse_byte_size(keep_memory).value(); }
std::int64_t DaemonConfig::keep_disk_bytes() const { return base::parse_byte_size(keep_disk).value(); }
std::int64_t DaemonConfig::log_max_bytes() const { return base::parse_byte_size(log_max_size).value(); }

LoadedDaemonConfig read_daemon_config(const std::string& path) {
  return read_daemon_document(config::read_yaml(path), path);
}

LoadedDaemonConfig read_daemon_config_text(std::string_view text, const std::string& file) {
  return read_daemon_document(config::parse_yaml(text, file), file);
}

DaemonConfig load_daemon_config(const std::string& path) {
  LoadedDaemonConfig loaded = read_daemon_config(path);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return std::move(loaded.config);
}

DaemonConfig daemon_config_of(const std::string& state_dir) {
  const std::string path = state_dir + "/daemon.yaml";
  if (storage::real_file_system().kind_of(path) == base::PathKind::kNothing) return {};
  return load_daemon_config(path);
}

}  // namespace esper::jobs
