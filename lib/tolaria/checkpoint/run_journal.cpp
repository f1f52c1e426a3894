#include "tolaria/checkpoint/run_journal.h"

#include <nlohmann/json.hpp>

namespace esper::tolaria {

using history::GrowthRecord;

RunJournal::RunJournal(base::FileSystem& files, const std::string& path, std::uint64_t file_bytes)
    : file_bytes_(file_bytes), journal_(files, path) {
  const auto is_segment = [](std::string_view text) { return history::read_segment(text).has_value(); };
  storage::scan_journal_from(files, path, is_segment, [this](std::string_view text) {
    if (records_ == 0) {
      if (const auto segment = history::read_segment(text)) records_ = segment->records_before;
    }
    ++records_;
    lanes_.take(text);
  });
}

void RunJournal::append(const std::string& json_text) {
  journal_.append(json_text);
  ++records_;
  lanes_.take(json_text);
}

void RunJournal::begin_file(history::RunPlace place, const leyline::Topology& topology,
                            const std::string& best_checkpoint) {
  GrowthRecord segment;
  segment.what = "segment";
  segment.place = place;
  segment.snapshot = topology;
  segment.records_before = records_;
  nlohmann::json record = growth_record_json(segment);
  record["best"] = best_checkpoint;
  record["lanes"] = lanes_.since(place.step);
  journal_.rotate(record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  ++records_;
}

}  // namespace esper::tolaria
