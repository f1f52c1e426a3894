#include "running_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "support/patience.h"

namespace esper::test {

namespace {

http::Deadline patience() { return std::chrono::steady_clock::now() + kPatience; }

}  // namespace

http::Response echo(const http::Request& request) {
  http::Response response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) response.body += " " + name + "=" + value;
  response.body += " " + request.body;
  return response;
}

struct RunningServer::Parts {
  boost::asio::io_context loop;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays{loop.get_executor()};
  http::Server server;
  std::thread thread;

  Parts(http::Handler handler, http::ServerOptions options) : server(loop, std::move(handler), std::move(options)) {}
};

RunningServer::RunningServer(http::Handler handler, http::ServerOptions options)
    : parts_(std::make_unique<Parts>(std::move(handler), std::move(options))) {
  const auto listening = parts_->server.listen_unix(folder_ / "socket");
  if (!listening) throw std::runtime_error(listening.error());
  parts_->thread = std::thread([this] { parts_->loop.run(); });
  on_loop([this](http::Server&) { thread_ = gettid(); });
}

RunningServer::~RunningServer() {
  on_loop([](http::Server& server) { server.close(); });
  parts_->stays.reset();
  parts_->thread.join();
}

void RunningServer::on_loop(const std::function<void(http::Server&)>& work) {
  std::promise<void> done;
  boost::asio::post(parts_->loop, [&] {
    work(parts_->server);
    done.set_value();
  });
  done.get_future().get();
}

http::LoopbackEndpoint RunningServer::listen_loopback(const std::string& token) {
  http::LoopbackEndpoint endpoint{0, token};
  on_loop([&](http::Server& server) { endpoint.port = server.listen_loopback(0, token).value(); });
  return endpoint;
}

void RunningServer::publish(const http::Event& event) {
  on_loop([&](http::Server& server) { server.publish(event); });
}

http::ServerCounts RunningServer::counts() {
  http::ServerCounts counts;
  on_loop([&](http::Server& server) { counts = server.counts(); });
  return counts;
}

bool RunningServer::comes_to(const std::function<bool(const http::ServerCounts&)>& condition) {
  const auto end = patience();
  while (!condition(counts())) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace esper::test
