#pragma once
// When a run saves, and what becomes of it: copies are made here, written elsewhere, and told in the next packet.

#include "tolaria/run.h"

namespace esper::tolaria {

// Copies the run's state and hands it to the writer. If that is still busy at its deadline, the save is skipped and
// told.
void save(Run& run, CheckpointStore::Rank rank);

// True where `checkpoint.every` in steps has come, or in epochs.
bool save_is_due_after_step(const Run& run);
bool save_is_due_after_epoch(const Run& run);

// Turns the writer's results so far into events.
void collect_save_results(Run& run);

// Waits until all is written, at most until the deadline. False if it passed, or if the last save failed.
bool finish_saving(Run& run);

}  // namespace esper::tolaria
