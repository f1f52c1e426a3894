#include "http/event_text.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace esper::test::event_text_test {

using namespace esper::http;

namespace {

std::vector<Event> events_of(std::string_view text, std::size_t piece) {
  EventParser parser(1000);
  std::vector<Event> events;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    REQUIRE(parser.add(text.substr(i, piece)));
    while (auto event = parser.next()) {
      events.push_back(*event);
      REQUIRE(events.size() <= text.size());
    }
  }
  return events;
}

}  // namespace

TEST_CASE("an event as text") {
  CHECK(event_text({7, "epoch", "{}"}) == "id: 7\nevent: epoch\ndata: {}\n\n");
  CHECK(event_text({-1, "", "a\nb\r\nc\rd\n"}) == "id: -1\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  CHECK(event_text({0, "", ""}) == "id: 0\ndata: \n\n");
  CHECK_THROWS(event_text({0, "a\nid: 9", ""}));
}

TEST_CASE("events come back from their text, in pieces of any size") {
  const std::vector<Event> events = {{1, "a", "x"}, {2, "", "two\nlines\n"}, {3, "b", ""}, {4, "", " : "}};
  std::string text(kHeartbeat);
  for (const auto& event : events) text += event_text(event) + std::string(kHeartbeat);
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) CHECK(events_of(text, piece) == events);
}

TEST_CASE("streams of other servers: line ends, fields without a colon, ids that stay, what is skipped") {
  CHECK(events_of("id:5\r\ndata:a\r\n\r\ndata\rdata: b\r\rretry: 9\nevent: x\n\nid: z\ndata: c\n\n", 1) ==
        std::vector<Event>{{5, "", "a"}, {5, "", "\nb"}, {5, "", "c"}});
  CHECK(events_of("data: without an end\n", 4).empty());
}

TEST_CASE("an event that is too long is refused") {
  EventParser parser(100);
  CHECK(parser.add("data: " + std::string(90, 'x')));
  CHECK(!parser.add("\ndata: " + std::string(90, 'x')));
}

}  // namespace esper::test::event_text_test
