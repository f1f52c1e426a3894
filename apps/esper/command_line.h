#pragma once
// The words of a command line before and after CLI11: what it does not take as it should, and what it says badly.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace esper {

// The words with `--set` in front of each further assignment: "--set a=1 b=2" becomes "--set a=1 --set b=2". A word is
// an assignment if it stands after one and has a "=" behind characters of which fields' names are made, a-z, 0-9, "_"
// and ".": other words stay the positional arguments that they are. Nothing behind "--" is looked at.
std::vector<std::string> with_separate_assignments(const std::vector<std::string>& words);

// For a parse that failed: where a positional argument is missing and some of these words became assignments so, which
// ones, with the way out; else empty. `words` are as they were given.
std::string missing_behind_set(const CLI::App& root, const std::vector<std::string>& words);

// For a parse that failed or left words over: what to say of the words that the command does not take, in their order,
// each with the nearest name that it does take. Empty if there are none. `command` is its name: "esper config check".
std::string unexpected_arguments(const CLI::App& root, const std::string& command);

}  // namespace esper
