#pragma once
// What measuring a run's network requires. Plain references.

#include "base/ledger/ledger.h"
#include "data/loading/loader.h"
#include "lanes/evaluation_forward.h"
#include "step/model.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

struct Evaluation {
  step::Model& model;
  data::Loader& data;   // validation data
  data::Loader& train;  // training data, for the averaged model's batch statistics
  const RunFacts& facts;
  base::Ledger& ledger;
  // Of the model as it runs; null: as written, which on the CPU is no slower.
  lanes::EvaluationForward* forward = nullptr;
};

}  // namespace esper::tolaria
