#pragma once
// How often each class occurs in one part of a data set. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace esper::data {

// Its name as UTF-8 (base::utf8_text), or the number where it has none.
std::string name_of_class(const Dataset& set, std::int64_t number);

// Samples of each class, or pixels where each pixel has one. Empty where targets are no classes: numbers, tokens, and
// samples that a process makes.
std::vector<std::int64_t> class_counts(const Dataset& set);

// Outputs of the network that nothing teaches: names of the classes without a sample in the training part.
std::vector<std::string> classes_without_samples(const Dataset& train);

// The name of the class that all of its samples have. Nothing where they have several, and where class_counts() is
// empty.
std::optional<std::string> only_class(const Dataset& train);

}  // namespace esper::data
