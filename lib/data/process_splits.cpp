#include "data/process_splits.h"

#include <ATen/ops/empty.h>
#include <fmt/core.h>

#include "data/files/input_error.h"
#include "data/process/sample_process.h"

namespace esper::data {
namespace {

torch::ScalarType type_of(SampleType type) {
  switch (type) {
    case SampleType::kFloat32:
      return torch::kFloat32;
    case SampleType::kUint8:
      return torch::kUInt8;
    case SampleType::kInt64:
      break;
  }
  return torch::kInt64;
}

torch::Tensor no_samples(const SampleArray& array) {
  auto sizes = array.shape;
  sizes.insert(sizes.begin(), 0);
  return at::empty(sizes, type_of(array.type));
}

leyline::SampleShape shape_of(const SampleLayout& layout, config::Task task) {
  const auto& sizes = layout.inputs.shape;
  if (task == config::Task::kLanguage) return leyline::tokens_shape(sizes[0], layout.outputs);
  return sizes.size() == 1 ? leyline::features_shape(sizes[0], layout.outputs)
                           : leyline::image_shape(sizes[0], sizes[1], sizes[2], layout.outputs);
}

Dataset part_of(const config::DataConfig& config, config::Task task, const char* part) {
  Dataset set;
  set.process = std::make_shared<SampleProcess>(SampleProcessSettings{.command = config.command,
                                                                      .part = part,
                                                                      .task = task,
                                                                      .batch_size = config.batch_size,
                                                                      .seed = config.split_seed});
  const auto& layout = set.process->layout();
  set.inputs = no_samples(layout.inputs);
  set.targets = no_samples(layout.targets);
  set.shape = shape_of(layout, task);
  set.class_names = layout.classes;
  return set;
}

}  // namespace

Splits split_process(const config::DataConfig& config, config::Task task) {
  if (config.command.empty()) fail_config("command", "is missing; data of kind process needs a program");
  Splits splits;
  splits.train = part_of(config, task, kTrainPart);
  splits.validation = part_of(config, task, kValidationPart);
  auto train = splits.train.process->layout(), validation = splits.validation.process->layout();
  train.samples = validation.samples;
  if (train == validation) return splits;
  fail_input("data.command", "",
             "the samples of its validation part differ from those of its training part in type, shape or classes");
}

}  // namespace esper::data
