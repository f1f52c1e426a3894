#pragma once
#include "data/dataset.h"

namespace esper::data {

// Data of kind process: starts data.command once for the training and once for the validation part. `inputs` and
// `targets` hold no sample, only their types and sizes: each batch is fetched when it is needed. There is no test part,
// and nothing is standardised. Throws Error{kData} where a program does not begin as it must, or the parts differ.
// Call it on a thread that lives as long as the data set: the programs end with it.
Splits split_process(const config::DataConfig& config, config::Task task);

}  // namespace esper::data
