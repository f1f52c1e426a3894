#include "config/fields/other_names.h"

#include <algorithm>

namespace esper::config {
namespace {

constexpr OtherName kOtherNames[] = {
    {"accumulate_grad_batches", "step.accumulation"},
    {"amp", "device.precision"},
    {"block_size", "data.context"},
    {"context_length", "data.context"},
    {"d_model", "host.embedding"},
    {"dataset", "data"},
    {"early_stopping", "training.early_stop_epochs"},
    {"gradient_accumulation_steps", "step.accumulation"},
    {"gradient_clip_val", "training.clip_norm"},
    {"imgsz", "data.image_size"},
    {"learning_rate", "training.optimizer.lr"},
    {"lr_scheduler", "training.schedule"},
    {"manual_seed", "seed"},
    {"max_epochs", "epochs"},
    {"max_grad_norm", "training.clip_norm"},
    {"mixed_precision", "device.precision"},
    {"model", "host"},
    {"monitor", "checkpoint.best_metric"},
    {"n_embd", "host.embedding"},
    {"n_head", "host.heads"},
    {"n_layer", "host.layers"},
    {"num_epochs", "epochs"},
    {"num_heads", "host.heads"},
    {"num_layers", "host.layers"},
    {"num_train_epochs", "epochs"},
    {"num_workers", "data.workers"},
    {"output_dir", "runs_dir"},
    {"patience", "training.early_stop_epochs"},
    {"random_seed", "seed"},
    {"test_split", "data.test_fraction"},
    {"val_split", "data.validation_fraction"},
    {"validation_split", "data.validation_fraction"},
};

}  // namespace

std::span<const OtherName> other_names() { return kOtherNames; }

std::string_view field_of_other_name(std::string_view name) {
  const auto* found = std::ranges::find(kOtherNames, name, &OtherName::name);
  return found == std::end(kOtherNames) ? std::string_view() : found->field;
}

}  // namespace esper::config
