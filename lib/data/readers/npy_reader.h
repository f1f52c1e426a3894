#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// Arrays of numpy: an .npz archive or a folder of .npy files, with arrays x and y, inputs and targets, or x_train,
// y_train and x_test, y_test for testing. x is [N, F], [N, H, W] or [N, C, H, W]; [N, H, W, C] is recognised by its
// last size (1, 3 or 4) and turned. unsigned bytes are pixels, all else becomes float. y holds whole numbers from 0,
// [N] or [N, 1], or [N, H, W] with a class for each pixel; for tasks multilabel and regression numbers, [N] or [N, K].
// A sample with a number that is not finite, or without a valid target, is a bad sample. Throws Error{kData}.
RawParts read_npy(const std::filesystem::path& path, const ReadOptions& options, BadSamples& bad,
                  Parts wanted = Parts::kAll);

// One array of inputs alone (.npy), laid out as x. Throws Error{kData}.
RawSamples read_npy_inputs(const std::filesystem::path& file, const ReadOptions& options);

// Of a folder of arrays: the inputs of the test part.
constexpr const char* kNpyTestFile = "x_test.npy";

}  // namespace esper::data
