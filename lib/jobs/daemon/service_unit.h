#pragma once
// The daemon as a service of systemd's user instance: its unit file, and the line of a crontab where there is no
// systemd. Any thread.

#include <string>

namespace esper::jobs {

// Absolute paths.
struct ServicePlan {
  std::string program;    // esper's own file
  std::string state_dir;  // of the daemon
  std::string config;     // its configuration file; empty: none is given
};

// Both throw base::Error{kConfig} where a path has a control character or is no UTF-8: neither file can hold it. A
// unit's program may have no quotes or backslashes either.
std::string unit_text(const ServicePlan& plan);
std::string crontab_line(const ServicePlan& plan);

enum class OnDifferent { kRefuse, kReplace };
enum class Installation { kWritten, kUnchanged };
// Writes the file whole or not at all, and makes its folder. Throws base::Error{kConfig} where another one is there and
// is not to be replaced, base::IoError where it cannot be written.
Installation install_unit(const std::string& path, const std::string& text, OnDifferent on_different);

}  // namespace esper::jobs
