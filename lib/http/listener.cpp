#include "http/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace esper::http {
namespace {

constexpr int kAcceptedAtOnce = 16;
// How long to wait where no connection can be accepted: the waiting connection would wake the loop again at once.
constexpr std::chrono::milliseconds kPause{100};

// Nothing where the kernel does not say.
std::optional<Peer> peer_of(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return Peer{.is_local = true, .uid = credentials.uid, .pid = credentials.pid};
}

bool is_someone_waiting(int listening) {
  pollfd waiting{listening, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

}  // namespace

Listener::Listener(std::weak_ptr<Service> service, boost::asio::io_context& loop, base::Descriptor listening,
                   std::shared_ptr<const std::string> token)
    : service_(std::move(service)), listening_(loop, listening.release()), pause_(loop), token_(std::move(token)) {}

void Listener::start() {
  listening_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                          const auto service = self->service_.lock();
                          if (error || !service || !self->listening_.is_open()) return;
                          self->accept_some(*service);
                          if (!self->is_paused_ && self->listening_.is_open()) self->start();
                        });
}

void Listener::close() {
  boost::system::error_code ignored;
  listening_.close(ignored);
  pause_.cancel();
}

// Asio's own accept leaves descriptors open in child processes.
void Listener::accept_some(Service& service) {
  for (int i = 0; i < kAcceptedAtOnce && listening_.is_open(); ++i) {
    base::Descriptor accepted(accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.is_open()) {
      admit(service, std::move(accepted));
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!is_someone_waiting(listening_.native_handle())) return;  // fails even where nobody waits
      if (!service.free_descriptor()) return pause();
    } else if (errno == ENOBUFS || errno == ENOMEM) {
      return pause();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    }
  }
}

void Listener::admit(Service& service, base::Descriptor accepted) {
  Entrance entrance{.peer = {}, .token = token_};
  if (token_) {
    const int on = 1;
    setsockopt(accepted.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  } else {
    const auto peer = peer_of(accepted.number());
    if (!peer || !service.options().admits(*peer)) {
      service.count(&ServerCounts::refused_peers);
      return;
    }
    entrance.peer = *peer;
  }
  service.adopt(std::move(accepted), std::move(entrance));
}

void Listener::pause() {
  is_paused_ = true;
  pause_.expires_after(kPause);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    self->is_paused_ = false;
    if (!error && self->listening_.is_open()) self->start();
  });
}

}  // namespace esper::http
