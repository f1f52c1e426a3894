#pragma once
#include <string>

#include "data/files/raw_samples.h"
#include "data/readers/test_part.h"

namespace esper::data {

// data.path, as messages name it.
std::string name_of_data(const config::DataConfig& config);

// Whether read_samples() splits off the parts that no path names: images before they are decoded, tables before their
// words are learnt.
bool splits_itself(config::DataKind kind);

// The samples of all parts that the run file names, not those that are split off, except where splits_itself(). Where
// it names no test part, one that the data bring along validates. Shapes and classes of the parts fit each other. Not
// for text. Throws base::Error.
RawParts read_samples(const config::DataConfig& config, TestPart test, const ReadOptions& options);

// The samples at data.test_path alone, of the shape that they have there; no other place is read. table: the encoding
// of a table with named columns.
RawSamples read_test_samples(const config::DataConfig& config, const TableEncoding& table, const ReadOptions& options);

}  // namespace esper::data
