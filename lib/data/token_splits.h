#pragma once
#include "data/dataset.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// Data of kind tokens: a file of little-endian numbers, mapped into memory and not read at once; `inputs` is uint16 or
// int32 over the file itself. Parts without a file of their own lie one behind the other, as those of a text. The
// vocabulary is data.vocabulary's list, else as large as the largest token of the training and validation part. Throws
// base::Error: kData for a file of another form or a token outside the vocabulary.
Splits split_tokens(const config::DataConfig& config, TestPart test, const ReadOptions& options);

// The tokens at data.test_path alone, for a network that knows so many. Throws likewise.
Dataset load_other_tokens(const config::DataConfig& config, std::int64_t vocabulary);

}  // namespace esper::data
