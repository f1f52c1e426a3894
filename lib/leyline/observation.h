#pragma once
// What the policy sees: numbers and names of one epoch, nothing that needs a tensor library.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "leyline/block_state.h"
#include "leyline/blueprint/feature_shape.h"
#include "leyline/seed.h"
#include "leyline/validation_change.h"

namespace esper::leyline {

struct HardwareContext {
  std::string device_type = "cpu";
  std::string device_id;
  double total_memory_gb = 0;
  double available_memory_gb = 0;
};

// A place where a module can grow.
struct SlotState {
  std::string slot;
  Stage stage = Stage::kDormant;        // kDormant: free to germinate
  std::vector<std::string> blueprints;  // that fit here and that the run allows
  // Of each: the multiply-adds that it adds to a forward, as a fraction of those of the network now. Empty: not known.
  std::vector<double> step_costs = {};
  // Of each: the numbers that it would learn. Empty: not known.
  std::vector<std::int64_t> parameters = {};
  FeatureKind kind = FeatureKind::kFeatures;  // of the feature there
};

// A number that GERMINATE takes, with the values that can be of use in this run.
struct CommandParameter {
  std::string name;  // "alpha_ticks"
  double min = 0, max = 0;
  double usual = 0;  // where the command does not give it
};

struct Observation {
  std::uint32_t version = 1;
  std::string packet_id;  // "<run>-epoch-<n>"
  std::string training_run_id;
  std::string experiment_name;
  std::string source_subsystem = "tolaria";
  std::uint64_t timestamp_ns = 0;   // wall clock, UNIX epoch
  std::uint32_t current_epoch = 0;  // epochs completed
  std::uint32_t num_epochs = 0;     // of the run; 0: not known
  std::uint64_t global_step = 0;
  double training_loss = 0;
  double validation_loss = 0;
  double validation_accuracy = 0;  // 0..1
  HardwareContext hardware_context;
  std::map<std::string, double>
      training_metrics;                // names of the reference: loss, gradient_norm, samples_per_s, optimizer_lr, ...
  std::vector<SeedState> seed_states;  // living and fossilised seeds
  std::vector<SlotState> slots;
  std::vector<BlockState> blocks;            // of the host, from input to output; empty: not known
  std::vector<CommandParameter> parameters;  // of GERMINATE; empty: not known
  std::string germination_barred;  // why the run would reject any GERMINATE now; empty: it would not on principle
  // Of the last decision: the seeds, and for GERMINATE the slots, whose commands the policy's service held back. Nobody
  // tried them.
  std::vector<std::string> held_back;
  std::vector<ValidationChange> validation_changes;  // by `after`, 1 first; empty: not measured
  bool is_last = false;                              // the run ends with this epoch
};

}  // namespace esper::leyline
