#pragma once
// `esper runs`: what its commands share.

#include <string>
#include <vector>

#include "esper/front.h"
#include "runs/run_index.h"
#include "runs/run_record.h"

namespace esper {

void add_runs_list(CLI::App& runs, Front& front);
void add_runs_show(CLI::App& runs, Front& front);
void add_runs_history(CLI::App& runs, Front& front);
void add_runs_compare(CLI::App& runs, Front& front);
void add_runs_rm(CLI::App& runs, Front& front);
void add_runs_gc(CLI::App& runs, Front& front);

// Options of more than one of them.
void add_roots_option(CLI::App& command, std::vector<std::string>& roots);
void add_yes_flag(CLI::App& command, bool& yes);

// All runs below the roots; without any, below runs_dir of a run file that does not set it, which need not be there.
// Throws Error{kConfig} with all roots that are no folders.
runs::Refreshed runs_below(const std::vector<std::string>& roots);

// The run folder that the user means: a path, or else the name of one in the default root. Throws Error{kConfig} where
// it is no run folder.
std::string run_folder_named(const std::string& given);

// "finished,failed"; throws Error{kConfig}.
std::vector<runs::RunState> states_in(const std::string& text);
// "7d" in milliseconds; throws Error{kConfig}.
std::int64_t age_in(const std::string& option, const std::string& text);
std::int64_t now_ms();

// Asks on a terminal; where standard input is none, throws Error{kConfig}, which names --yes.
bool is_confirmed(const std::string& question);

}  // namespace esper
