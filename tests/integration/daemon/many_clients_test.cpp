// Many clients at once: what each was told is what the daemon and its audit log have in the end.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "audit.h"
#include "http/event_reader.h"
#include "stub_daemon.h"

namespace esper::test::many_clients_test {

using namespace esper::test;

namespace {

constexpr int kClients = 16, kOperations = 625;

struct Client {
  std::vector<int> submitted{}, cancelled{};
  int unanswered = 0, refused = 0;
};

void submit(const StubDaemon& daemon, int number, int operation, Client& client) {
  auto document = daemon.submission({"many"});
  document["runs_dir"] = document["folder"];
  document["run_dir"] = "";
  document["token"] = fmt::format("{}-{}", number, operation);
  const auto response = daemon.ask("POST", "/v1/jobs", document);
  if (!response) {
    ++client.unanswered;
  } else if (response->status == 201) {
    client.submitted.push_back(nlohmann::json::parse(response->body)["id"]);
  } else {
    ++client.refused;
  }
}

// Three submissions for each two that are cancelled again.
void work(const StubDaemon& daemon, int number, Client& client) {
  std::mt19937 random(static_cast<unsigned>(number));
  for (int operation = 0; operation < kOperations; ++operation) {
    if (random() % 5 < 3 || client.submitted.empty()) {
      submit(daemon, number, operation, client);
      continue;
    }
    const int job = client.submitted[random() % client.submitted.size()];
    const auto response = daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", job));
    if (!response) {
      ++client.unanswered;
    } else if (response->status == 200) {
      client.cancelled.push_back(job);
    } else if (response->status != 409) {  // it was cancelled before
      ++client.refused;
    }
  }
}

}  // namespace

TEST_CASE("16 clients with 10,000 requests: nothing acknowledged is missing, and each job's history is legal") {
  StubDaemon daemon;
  daemon.options.config.threads = 1;
  daemon.start();
  const StubJob first{"first", 600};
  daemon.submit(first);  // the others wait behind it
  std::vector<Client> clients(kClients);
  std::vector<std::thread> threads;
  for (int number = 0; number < kClients; ++number)
    threads.emplace_back([&, number] { work(daemon, number, clients[static_cast<std::size_t>(number)]); });
  for (auto& thread : threads) thread.join();

  std::set<int> submitted, cancelled;
  std::size_t count = 0, cancels = 0;
  for (const Client& client : clients) {
    CHECK(client.unanswered == 0);
    CHECK(client.refused == 0);
    CHECK(std::ranges::is_sorted(client.submitted));
    submitted.insert(client.submitted.begin(), client.submitted.end());
    cancelled.insert(client.cancelled.begin(), client.cancelled.end());
    count += client.submitted.size();
    cancels += client.cancelled.size();
  }
  CHECK(submitted.size() == count);
  CHECK(cancelled.size() == cancels);  // no job was cancelled twice
  REQUIRE(daemon.ask("POST", "/v1/jobs/1/cancel")->status == 200);
  daemon.kill();  // what was acknowledged needs no orderly end

  const auto ids = submitted_in(daemon.options.state_dir);
  CHECK(ids.size() == count + 1);
  CHECK(std::ranges::is_sorted(ids));
  const auto histories = histories_of(daemon.options.state_dir);
  for (const int job : submitted) {
    CAPTURE(job);
    REQUIRE(histories.contains(job));
    CHECK(is_legal(histories.at(job)));
    const bool has_ended = histories.at(job).back() == esper::jobs::JobState::kCancelled;
    CHECK(has_ended == cancelled.contains(job));
  }
}

TEST_CASE("events have their numbers also while nobody listens, so that a client sees that it missed some") {
  StubDaemon daemon;
  daemon.start();
  const nlohmann::json held{{"hold", true}};
  for (const char* const name : {"one", "two", "three"}) daemon.submit({name}, held);
  const http::UnixEndpoint endpoint{jobs::socket_of(daemon.options.state_dir)};
  auto follower = http::EventReader::open(endpoint, "/v1/events", std::chrono::seconds(30));
  REQUIRE(follower);
  daemon.submit({"four"}, held);
  const auto event = follower->next(std::chrono::seconds(30));
  REQUIRE(event);
  REQUIRE(event->has_value());
  CHECK((*event)->id == 4);
  CHECK(nlohmann::json::parse((*event)->data)["reason"] == "submitted with --hold");
}

TEST_CASE("40 clients follow one job, and each learns of its end") {
  constexpr int kFollowers = 40;
  StubDaemon daemon;
  daemon.start();
  const http::UnixEndpoint endpoint{jobs::socket_of(daemon.options.state_dir)};
  std::vector<http::EventReader> followers;
  for (int number = 0; number < kFollowers; ++number) {
    auto follower = http::EventReader::open(endpoint, "/v1/events", std::chrono::seconds(30));
    INFO((follower ? "" : follower.error()));
    REQUIRE(follower);
    followers.push_back(*std::move(follower));
  }
  const int job = daemon.submit({"followed", 0});
  for (auto& follower : followers) {
    const bool has_ended = comes_true([&] {
      const auto event = follower.next(std::chrono::seconds(30));
      INFO((event ? "" : event.error()));
      REQUIRE(event);
      REQUIRE(event->has_value());
      const auto seen = nlohmann::json::parse((*event)->data);
      return (*event)->name == "job" && seen["id"] == job && seen["state"] == "succeeded";
    });
    REQUIRE(has_ended);
  }
}

}  // namespace esper::test::many_clients_test
