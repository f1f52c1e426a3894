// Dispatch, and the one place where errors end up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fault.h"
#include "base/memory_reserve.h"
#include "base/out_of_memory_exit.h"
#include "base/text/joined.h"
#include "base/text/problem.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "esper/command_line.h"
#include "esper/front.h"
#include "esper/output.h"
#include "esper/version.h"
#include "jobs/process/shim.h"

namespace esper {
namespace {

using base::ExitCode;

constexpr std::string_view kOutOfMemoryText =
    "esper: out of memory; a run can be continued from its last checkpoint: esper train --resume RUN\n";

int usage_error(const std::string& text, const std::string& command, Format format) {
  return report_error(ExitCode::kConfig, text + "\nTry `" + command + " --help`.", {}, format);
}

int run_front(int argc, char** argv, Format format) {
  base::fault::arm_from_environment();
  // No command for users: the daemon starts it.
  if (argc == 3 && argv[1] == std::string_view("job-shim")) return jobs::run_shim({argv[2]});
  CLI::App app;
  Front front{app, {}};
  build_front(front);
  bool version = false, json = false;
  app.add_flag("--version", version, "Print build facts");
  app.add_flag("--json", json, "With --version, or before a command: print JSON");
  const std::vector<std::string> given(argv + 1, argv + argc);
  const std::vector<std::string> words = json_flag_last(with_separate_assignments(given));
  const std::string command = named_command(app, words);
  if (const std::string text = unknown_command(app, words); !text.empty()) return usage_error(text, command, format);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // it takes them from the back
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    print(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    const std::string unexpected = unexpected_arguments(app, command);
    const bool only_those = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    std::vector<std::string> problems{only_those ? "" : error.what(), unexpected, missing_behind_set(app, given)};
    std::erase(problems, "");
    return usage_error(base::joined(problems, "; "), command, format);
  }
  if (version) return print_version(json);
  if (front.run) return front.run();
  base::standard_error().write(app.help());
  return static_cast<int>(ExitCode::kConfig);
}

// Errors end up here.
int run_main(int argc, char** argv) {
  const bool wants_json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  const Format format = wants_json ? Format::kJson : Format::kText;
  try {
    base::keep_standard_streams();
    base::hold_memory_reserve();
    base::install_out_of_memory_exit(kOutOfMemoryText);
    return run_front(argc, argv, format);
  } catch (const base::BrokenPipe&) {
    return base::kBrokenPipeStatus;
  } catch (const base::ConfigError& error) {
    return report_error(error.code(), error.what(), error.problems(), format);
  } catch (const base::MissingResource& error) {
    return report_error(error.code(), error.what(), {error.problem()}, format);
  } catch (const base::Error& error) {
    return report_error(error.code(), error.what(), {}, format);
  } catch (const std::bad_alloc&) {
    return report_error(ExitCode::kResources, "out of memory", {}, format);
  } catch (const std::exception& error) {
    return report_error(ExitCode::kBug, std::string("unexpected error: ") + error.what(), {}, format);
  }
}

// Without the destructors of static objects: torch takes a tenth of a second to take back its operators one by one.
// What has to happen at the end of a command has happened: its threads have been joined, its files are closed.
[[noreturn]] void end_process(int status) {
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  std::exit(status);  // then leaks are looked for
#else
  std::_Exit(status);
#endif
}

}  // namespace
}  // namespace esper

int main(int argc, char** argv) { esper::end_process(esper::run_main(argc, argv)); }
