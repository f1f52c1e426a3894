#pragma once
// Each validation sample's figures in the run's last epochs, from which the policy's standard errors come. Part of the
// progress; checkpoints carry the tensors among theirs. Training thread.

#include <torch/types.h>

#include <vector>

#include "base/expected.h"
#include "kasmina/tensor/tensor_table.h"
#include "leyline/validation_change.h"
#include "tolaria/state/control_record.h"

namespace esper::tolaria {

// Float32 [epochs, samples] on the CPU, oldest epoch first, never written in place; undefined before the first epoch.
struct ValidationWindow {
  torch::Tensor loss, correct;

  std::int64_t epochs() const { return loss.defined() ? loss.size(0) : 0; }
};

// With an epoch more, and as many before it as changes_of() takes for windows of that many epochs. Samples without
// figures empty it; other samples than before reset it.
ValidationWindow with_epoch(const ValidationWindow& window, const SampleFigures& epoch, int window_epochs);

// What the last 1, 2, ... epochs changed, up to a window, compared with as many epochs before as a window has and the
// run had. A window longer than 16 epochs counts as 16, which bounds the memory.
std::vector<leyline::ValidationChange> changes_of(const ValidationWindow& window, int window_epochs);

// "control.epochs.loss", "control.epochs.correct"; they begin with step::kRunTensors. None of an empty window.
std::vector<kasmina::NamedTensor> window_tensors(const ValidationWindow& window);
// Takes them from a checkpoint's; empty where it has none.
base::Expected<void> restore_tensors(ValidationWindow& window, const std::vector<kasmina::NamedTensor>& saved);

}  // namespace esper::tolaria
