#pragma once
// What measuring a run's network requires. Plain references.

#include "base/ledger/ledger.h"
#include "data/loading/loader.h"
#include "lanes/evaluation_forward.h"
#include "step/model.h"
#include "tolaria/run/run_facts.h"

namespace esper::tolaria {

struct Evaluation {
  step::Model& model;
  data::Loader& data;   // validation data
  data::Loader& train;  // training data, for the averaged model's batch statistics
  const RunFacts& facts;
  base::Ledger& ledger;
  lanes::EvaluationForward* forward =
      nullptr;  // of the model as it runs; null: as written, on the CPU, where it is no slower
};

}  // namespace esper::tolaria
