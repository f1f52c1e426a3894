#pragma once
// The network that `esper export` writes, out of a run's checkpoint, as evaluation runs it.

#include <string>

#include "engine/saved_run.h"
#include "engine/training_setup.h"
#include "esper/engine_api.h"
#include "porting/model_card.h"

namespace esper::engine {

class ExportNetwork {
 public:
  // On the CPU, in fp32. Reads data only as averaged_model(). Throws Error: as open_saved_run() and averaged_model();
  // kCheckpoint where the checkpoint does not say how its data were prepared; kConfig for a host that cannot be
  // written.
  explicit ExportNetwork(const ExportRequest& request);
  ExportNetwork(const ExportNetwork&) = delete;
  ExportNetwork& operator=(const ExportNetwork&) = delete;

  // What exporter.py takes, in that folder: model.py, weights.safetensors, example.safetensors. Returns the example's
  // text.
  std::string write_parts(const std::string& folder) const;
  // Throws Error{kResources} where the weights there are not the network's.
  void require_weights(const std::string& folder) const;
  // What is known without the export itself.
  porting::ModelCard card() const;

  const std::string& preprocessing_json() const { return saved_.image.preprocessing; }
  const data::Preprocessing& preprocessing() const { return *saved_.preprocessing; }
  const std::string& checkpoint() const { return saved_.path; }

 private:
  const ExportRequest& request_;
  SavedRun saved_;
  TrainingSetup setup_;
  tolaria::AveragedModel averaged_;
};

}  // namespace esper::engine
