#pragma once
// The batches of a training setup's data, from where data.gpu_dataset says.

#include <memory>
#include <string>

#include "data/loading/loader.h"
#include "engine/training_setup.h"

namespace esper::engine {

// Ends a loader, which waits for the batches that its threads are reading. Where one hangs, the process ends with
// status 3, unless a deadline of its command (engine/end_in_time.h) came before.
struct EndLoader {
  base::Duration deadline{};
  void operator()(data::Loader* loader) const;
};
using LoaderPointer = std::unique_ptr<data::Loader, EndLoader>;

struct Loaders {
  LoaderPointer train, validation, test;  // test: null where setup.data has none
  std::string reason;                     // of their source, where data.gpu_dataset left it to the run on a GPU
};
// Of a training: where data.gpu_dataset leaves the source to it, they are measured (data/loading/source_choice.h). They
// read out of setup.data, which stays where it is from now on.
Loaders open_loaders(const TrainingSetup& setup);
// Of a data set that outlives it, normalised as setup.data says. Measures nothing: auto goes by the size.
LoaderPointer open_loader(const TrainingSetup& setup, const data::Dataset& dataset, data::Order order);

}  // namespace esper::engine
