#include "http/event_text.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/utf8.h"

namespace esper::http {

std::string event_text(const Event& event) {
  ESPER_CHECK(!base::first_control_character(event.name), "an event's name must be one line");
  std::string text = fmt::format("id: {}\n", event.id);
  if (!event.name.empty()) text += "event: " + event.name + "\n";
  std::string_view rest = event.data;
  for (;;) {
    const auto end = rest.find_first_of("\r\n");
    text += "data: ";
    text += rest.substr(0, end);
    text += '\n';
    if (end == rest.npos) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  text += '\n';
  return text;
}

base::Expected<void> EventParser::add(std::string_view piece) {
  for (const char c : piece) {
    const bool is_second_half = c == '\n' && std::exchange(after_return_, false);
    if (is_second_half) continue;
    after_return_ = c == '\r';
    if (c == '\r' || c == '\n') {
      take_line(line_);
      line_.clear();
    } else {
      line_ += c;
      if (line_.size() + event_.data.size() > most_bytes_)
        return base::failure(fmt::format("an event has more than {} bytes", most_bytes_));
    }
  }
  return {};
}

std::optional<Event> EventParser::next() {
  if (complete_.empty()) return std::nullopt;
  Event event = std::move(complete_.front());
  complete_.pop_front();
  return event;
}

void EventParser::take_line(std::string_view line) {
  if (line.empty()) {
    if (has_data_) complete_.push_back(event_);
    event_ = Event{.id = event_.id, .name = {}, .data = {}};  // the id stays until another comes
    has_data_ = false;
    return;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return take_field(line, {});
  auto value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void EventParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (name == "event") {
    event_.name = value;
  } else if (name == "id") {
    if (const auto id = base::parse_number<std::int64_t>(value)) event_.id = *id;
  }
}

}  // namespace esper::http
