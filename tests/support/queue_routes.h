#pragma once
// The routes of a queue whose loop does not run: no job begins. Its jobs may have 8 GiB of memory, and no GPU.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/audit_routes.h"
#include "jobs/api/edit_routes.h"
#include "jobs/api/job_routes.h"
#include "jobs/api/sweep_routes.h"
#include "jobs/database/schema.h"
#include "support/temporary_folder.h"

namespace esper::test {

struct QueueRoutes {
  TemporaryFolder folder;
  boost::asio::io_context loop;
  jobs::JobStore store{jobs::open_database(folder / "jobs.db")};
  jobs::Sweeps sweeps{store};
  std::vector<jobs::Job> changed;  // what clients hear of
  jobs::QueueSetup setup{
      .attempts = {folder / "jobs", "/bin/false", {}, 1 << 20},
      .restarts = {},
      .scheduler = {.machine = {.memory_bytes = std::int64_t{8} << 30, .gpus = std::vector<std::int64_t>{}}}};
  jobs::Queue queue{loop, store, sweeps, setup, [this](const jobs::Job& job) { changed.push_back(job); }};
  jobs::JobRoutes job_routes{store, queue};
  jobs::EditRoutes edit_routes{store, queue};
  jobs::SweepRoutes sweep_routes{store, sweeps, queue};
  jobs::Router router;

  QueueRoutes() {
    job_routes.add_to(router);
    edit_routes.add_to(router);
    sweep_routes.add_to(router);
    jobs::add_audit_routes(router, store);
  }
  // As the server does where nobody else asks.
  http::Response ask(const std::string& method, const std::string& path, const nlohmann::json& body = nullptr,
                     std::map<std::string, std::string> query = {}) {
    auto response = first_part(method, path, body, std::move(query));
    while (response.later) response = response.later();
    return response;
  }
  http::Response first_part(const std::string& method, const std::string& path, const nlohmann::json& body,
                            std::map<std::string, std::string> query = {}) {
    http::Request request;
    request.method = method;
    request.path = path;
    request.query = std::move(query);
    request.peer = {.is_local = true, .uid = 1234};
    if (!body.is_null()) request.body = body.dump();
    return router.answer(request);
  }
};

}  // namespace esper::test
