#pragma once
// Comma-separated text, one record after another (RFC 4180: quoted fields may hold commas, line ends and doubled
// quotes).

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

struct CsvField {
  std::string_view text;  // lives until the next record is read
  std::int64_t line = 1;
};

// What next() found. A malformed record is passed over; the reason and its place are in problem().
enum class CsvOutcome { kRecord, kMalformed, kEnd };

class CsvCursor {
 public:
  explicit CsvCursor(std::string_view text);  // a byte-order mark is passed over
  CsvOutcome next();                          // blank lines are passed over
  const std::vector<CsvField>& fields() const { return fields_; }

  struct Problem {
    std::string reason;
    std::int64_t line = 0, field = 0;  // from 1
  };
  const Problem& problem() const { return problem_; }

 private:
  bool at_end() const { return position_ >= text_.size(); }
  bool at_line_end() const { return at_end() || text_[position_] == '\n' || text_[position_] == '\r'; }
  std::int64_t field_number() const { return static_cast<std::int64_t>(fields_.size()) + 1; }
  void pass_line_end();
  std::size_t past_blanks(std::size_t position) const;  // spaces and tabs
  bool read_field();
  bool read_quoted(CsvField& field);
  bool fail(const char* reason);

  std::string_view text_;
  std::size_t position_ = 0, line_start_ = 0;
  std::int64_t line_ = 1;
  std::vector<CsvField> fields_;
  std::deque<std::string> unquoted_;  // owns the fields whose doubled quotes were folded
  Problem problem_;
};

}  // namespace esper::data
