#include "data/files/csv_cursor.h"

#include <algorithm>

namespace esper::data {

CsvCursor::CsvCursor(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = line_start_ = 3;
}

CsvOutcome CsvCursor::next() {
  fields_.clear();
  unquoted_.clear();
  while (!at_end() && at_line_end()) pass_line_end();
  if (at_end()) return CsvOutcome::kEnd;
  const auto line = line_;
  const auto start = line_start_;
  for (;;) {
    if (!read_field()) {
      // Go on after the line that the record began in: a quote that is never closed must not swallow the rest.
      line_ = line;
      position_ = line_start_ = start;
      while (!at_line_end()) ++position_;
      return CsvOutcome::kMalformed;
    }
    if (at_line_end()) return CsvOutcome::kRecord;
    ++position_;  // the comma
  }
}

void CsvCursor::pass_line_end() {
  if (text_[position_] == '\r' && position_ + 1 < text_.size() && text_[position_ + 1] == '\n') ++position_;
  ++position_;
  ++line_;
  line_start_ = position_;
}

std::size_t CsvCursor::past_blanks(std::size_t position) const {
  return std::min(text_.find_first_not_of(" \t", position), text_.size());
}

bool CsvCursor::read_field() {
  CsvField field{{}, line_};
  if (const auto quote = past_blanks(position_); text_.substr(quote, 1) == "\"") {
    position_ = quote;
    return read_quoted(field);
  }
  const auto begin = position_;
  while (!at_line_end() && text_[position_] != ',') {
    if (text_[position_] == '"') return fail("a quote inside a field that does not begin with one");
    ++position_;
  }
  field.text = text_.substr(begin, position_ - begin);
  fields_.push_back(field);
  return true;
}

bool CsvCursor::read_quoted(CsvField& field) {
  auto& folded = unquoted_.emplace_back();
  problem_ = {"unterminated quoted field", line_, field_number()};
  ++position_;
  for (;;) {
    if (at_end()) return false;
    if (text_[position_] == '"') {
      ++position_;
      if (at_end() || text_[position_] != '"') break;
    }
    if (at_line_end()) {
      folded += '\n';
      pass_line_end();
    } else {
      folded += text_[position_++];
    }
  }
  position_ = past_blanks(position_);
  if (!at_line_end() && text_[position_] != ',') return fail("text after a closing quote");
  field.text = folded;
  fields_.push_back(field);
  return true;
}

bool CsvCursor::fail(const char* reason) {
  problem_ = {reason, line_, field_number()};
  return false;
}

}  // namespace esper::data
