#pragma once
// Accepts connections on one listening socket. On the loop's thread; for this room's .cpp files.

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "http/service.h"

namespace esper::http {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Without a token: a unix-domain socket, whose clients the kernel names.
  Listener(std::weak_ptr<Service> service, boost::asio::io_context& loop, base::Descriptor listening,
           std::shared_ptr<const std::string> token);
  void start();
  void close();

 private:
  void accept_some(Service& service);
  void admit(Service& service, base::Descriptor accepted);
  void pause();

  std::weak_ptr<Service> service_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer pause_;
  std::shared_ptr<const std::string> token_;
  bool is_paused_ = false;
};

}  // namespace esper::http
