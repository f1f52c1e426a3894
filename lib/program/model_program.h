#pragma once
// A model's forward as a program: what `esper import` writes for training and for evaluation. Plain data; any thread.

#include <string_view>

#include "base/expected.h"
#include "program/symbolic.h"

namespace esper::program {

// Inputs are named as the model's tensors ("host.layer1.0.conv1.weight") and "input", the batch, of which there is one.
// Sizes are written at SymbolicProgram::kTypical. Buffers may be written by operations, parameters not.
struct ModelProgram {
  SymbolicProgram body;
  ValueId output = kNoValue;
};

inline constexpr std::string_view kModelInput = "input";

// Letters, digits, "_", "." and "-", at most 256: what a name from a file may be that goes into other texts.
bool is_tensor_name(std::string_view name);

// A recurrent network's layers as one operation, and where its dropout rate and its mode are.
bool is_recurrent(std::string_view operation);
inline constexpr std::size_t kRecurrentDropout = 5, kRecurrentTrain = 6;

// The arguments of aten::batch_norm and aten::instance_norm.
inline constexpr std::size_t kNormMean = 3, kNormVariance = 4, kNormTraining = 5, kNormMomentum = 6;

// Of the text that the exporter writes: save_program()'s document with "expressions", each [part, at, argument,
// element, factor, offset] as in NumberPlace and SizeExpression, and "output". Fails with the reason where it is no
// such text, where verify() finds a fault, or where it calls an operator that a model has no use for: one that is not
// ATen's, that opens files, or that writes into the batch.
base::Expected<ModelProgram> parse_model_program(std::string_view text);

// The same training forward without lasting effects: no dropout, no random numbers, no buffer written; batch norm
// takes the batch's statistics. Fails where the model draws random numbers in some other way, or writes a buffer by
// another operator than one that adds, through a view of it as well.
base::Expected<ModelProgram> without_effects(const ModelProgram& training);

}  // namespace esper::program
