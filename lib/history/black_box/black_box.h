#pragma once
// A run's black box, read from its folder: of a run that trains, that was killed, or that ended. Whatever the file
// holds, what is read is bounded and checked. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "history/black_box/black_box_record.h"
#include "storage/bytes.h"

namespace esper::history {

struct BlackBox {
  std::vector<BlackBoxRecord> records;  // ascending by number, each sound
  std::size_t torn = 0;                 // that were cut off while they were written, or damaged since
};

// Of the bytes of a file; the reason where they are no black box of this version.
base::Expected<BlackBox> parse_black_box(storage::Bytes bytes);

// Throws base::Error: kConfig where `run` is no run folder or has no black box, kData where the file is none.
BlackBox read_black_box(const std::string& run);

// The newest `last` records; 0: all of them.
void keep_last(BlackBox& box, std::size_t last);

// A table, a line for each record.
std::string black_box_text(const BlackBox& box);
// {run_dir, records [{number, kind, time, step, epoch, process, ...}], torn}. A loss that is not finite is the string
// "nan", "inf" or "-inf", one that is not known null.
nlohmann::ordered_json black_box_json(const std::string& run, const BlackBox& box);

}  // namespace esper::history
