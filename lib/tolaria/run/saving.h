#pragma once
// When a run saves, and what becomes of it: copies are made here, written elsewhere, and told in the next packet.

#include <exception>

#include "tolaria/run/run.h"

namespace esper::tolaria {

// Copies the run's state and hands it to the writer, as the best one if the epoch that just ended is. If the writer is
// still busy at its deadline, the save is skipped and told.
void save(Run& run);

// True where `checkpoint.every` in steps has come, or in epochs.
bool save_is_due_after_step(const Run& run);
bool save_is_due_after_epoch(const Run& run);

// Turns the writer's results so far into events.
void collect_save_results(Run& run);

// Waits until what was handed over is written, at most until the deadline; false if that passed.
bool finish_saves(Run& run);

// Afterwards the run's state is on the disk, or this is false. What is under way is finished first; a save that
// goes wrong is tried once more.
bool save_last_state(Run& run);

// The same for a run that `error` ended, where its state is that of a whole step; false where it may not be.
bool save_after(Run& run, const std::exception& error);

}  // namespace esper::tolaria
