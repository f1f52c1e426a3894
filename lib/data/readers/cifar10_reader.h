#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// The binary form of CIFAR-10: a folder with data_batch_1.bin ... and test_batch.bin; each record is one byte of class
// and 3 x 32 x 32 bytes, red plane first. A record of a class above 9 is a bad sample. Throws Error{kData}.
RawParts read_cifar10(const std::filesystem::path& folder, const ReadOptions& options, BadSamples& bad,
                      Parts wanted = Parts::kAll);

// Of such a folder: the test part.
constexpr const char* kCifar10TestFile = "test_batch.bin";

}  // namespace esper::data
