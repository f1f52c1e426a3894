#pragma once
// From run files and `--set a.b=c` to a RunConfig, with every problem at once.
//
// A run file may name one other file under `extends:` (relative to itself), which may name a further one, up to 16
// files and in no circle; a file overrides what it extends, key by key; a list replaces a list.
// Assignments come last, in order. Their values are YAML (`--set host.hidden=[32,32]`); an empty value is the empty
// text.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/problem.h"
#include "config/run_config.h"

namespace esper::config {

struct LoadedConfig {
  RunConfig config;                     // what could be read; to be used only where there are no problems
  std::vector<base::Problem> problems;  // by place: what is extended, the run file, the assignments
  // What is no problem: fields of DocumentKind::kOfRun that were ignored, settings of a user's document that are
  // doubtful or without effect.
  std::vector<base::Problem> warnings;
  std::map<std::string, base::Place>
      origins;  // of each field and section that was given; a field not here has its default
};

// What the document is: a file that a user writes, a user's text that is no file, or the config.yaml that a run keeps.
// Only the first may extend another. A field that earlier versions had and this one refuses does not keep a run from
// being resumed: in the last it is a warning.
enum class DocumentKind { kRunFile, kText, kOfRun };

LoadedConfig read_run_config(const std::string& path, const std::vector<std::string>& assignments = {});
// The same for a text that is no file; `name` is what places show. It cannot extend.
LoadedConfig read_run_config_text(std::string_view text, const std::string& name,
                                  const std::vector<std::string>& assignments = {},
                                  DocumentKind kind = DocumentKind::kText);

// Throws ConfigError (exit 2) with all problems.
RunConfig load_run_config(const std::string& path, const std::vector<std::string>& assignments = {});

}  // namespace esper::config
