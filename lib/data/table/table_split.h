#pragma once
// Which rows of a table are in which part. Any thread.

#include <vector>

#include "data/order/selection.h"
#include "data/table/table_rows.h"

namespace esper::data {

// At random, as data sets of other formats are split. A row of the validation or test part whose class no row of the
// training part has is a bad sample. Throws Error{kData} where there are fewer rows than parts.
SplitIndices split_rows(const TableRows& rows, const SplitFractions& fractions, std::uint64_t seed,
                        const std::filesystem::path& file, BadSamples& bad);

// All rows, in their order.
std::vector<std::int64_t> all_rows(const TableRows& rows);

// The targets of these rows.
RawSamples chosen_targets(const RawSamples& targets, const std::vector<std::int64_t>& chosen);

}  // namespace esper::data
