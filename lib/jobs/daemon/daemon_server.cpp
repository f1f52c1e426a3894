#include "jobs/daemon/daemon_server.h"

#include "base/error.h"
#include "jobs/daemon/token_file.h"

namespace esper::jobs {

void DaemonServer::listen(const std::string& socket, const std::optional<LoopbackFacts>& loopback) {
  if (loopback) {
    const auto port =
        server_.listen_loopback(static_cast<std::uint16_t>(loopback->port), token_of(loopback->token_file));
    if (!port) throw base::Error(base::ExitCode::kResources, "http.port: " + port.error());
  }
  if (auto listening = server_.listen_unix(socket); !listening)
    throw base::Error(base::ExitCode::kResources, listening.error());
}

}  // namespace esper::jobs
