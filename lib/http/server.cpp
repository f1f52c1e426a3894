#include "http/server.h"

#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "http/service.h"

namespace esper::http {

bool is_owner_or_root(const Peer& peer) { return peer.is_local && (peer.uid == geteuid() || peer.uid == 0); }

Server::Server(boost::asio::io_context& loop, Handler handler, ServerOptions options)
    : service_(std::make_shared<Service>(loop, std::move(handler), std::move(options))) {}

Server::~Server() { close(); }

base::Expected<void> Server::listen_unix(const std::string& path) {
  auto listening = listen_on_path(path);
  if (!listening) return base::failure(listening.error());
  auto file = SocketFile::at(path);
  if (!file) return base::failure(file.error());
  service_->add_socket_file(*std::move(file));
  service_->listen(*std::move(listening), nullptr);
  return {};
}

base::Expected<std::uint16_t> Server::listen_loopback(std::uint16_t port, const std::string& token) {
  ESPER_CHECK(!token.empty(), "loopback TCP needs a token");
  auto listening = listen_on_loopback(port);
  if (!listening) return base::failure(listening.error());
  service_->listen(std::move(listening->descriptor), std::make_shared<const std::string>(token));
  return listening->port;
}

void Server::publish(const Event& event) { service_->streams().publish(event); }
void Server::close() { service_->close(); }
ServerCounts Server::counts() const { return service_->counts(); }

}  // namespace esper::http
