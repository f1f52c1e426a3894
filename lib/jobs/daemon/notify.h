#pragma once
// What the daemon reports to systemd, in the protocol of sd_notify(3): datagrams to the socket that the environment
// names. Nothing is sent where no service manager started the daemon. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "jobs/queue/delayed_call.h"

namespace esper::jobs {

struct ServiceManager {
  std::string socket{};        // a path, or '@' and an abstract name; empty: there is none
  base::Duration watchdog{0};  // it kills a daemon that it does not hear from for so long; 0: it does not
};

// Of this process, taken out of its environment, so that no child reports in its place. Before there are other threads.
ServiceManager take_service_manager();

// Sends one datagram, "READY=1\nSTATUS=..."; false: it was not delivered. Never waits.
bool notify(const ServiceManager& manager, std::string_view state);

class ServiceNotices {
 public:
  ServiceNotices(boost::asio::io_context& loop, ServiceManager manager);

  // Clients can connect. From here on the loop sends a sign of life at half of the watchdog's time, if there is one.
  void ready();
  // For `systemctl status`; one line.
  void status(const std::string& text);
  void stopping();

 private:
  void report_life();

  const ServiceManager manager_;
  DelayedCall sign_of_life_;
};

}  // namespace esper::jobs
