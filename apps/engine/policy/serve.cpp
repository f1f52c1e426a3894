// `esper policy serve`: one of our own policies in the process that a run has started for it.

#include "tamiyo/process/serve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "engine/commands.h"
#include "engine/policy/process_policy.h"
#include "tamiyo/process/controller_process.h"

namespace esper::engine {
namespace {

using base::Descriptor;

[[noreturn]] void refuse_to_serve() {
  throw base::Error(base::ExitCode::kConfig,
                    "esper policy serve is started by runs with policy.host: process; start such a run");
}

Descriptor channel_of_run() {
  struct stat facts{};
  if (::fstat(tamiyo::kChannelDescriptor, &facts) < 0 || !S_ISSOCK(facts.st_mode)) refuse_to_serve();
  ::fcntl(tamiyo::kChannelDescriptor, F_SETFD, FD_CLOEXEC);
  return Descriptor(tamiyo::kChannelDescriptor);
}

crypto::MacKey key_of_run() {
  const Descriptor source(tamiyo::kKeyDescriptor);
  crypto::MacKey key;
  for (std::size_t filled = 0; filled < key.size();) {
    const auto got = ::read(source.number(), key.data() + filled, key.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse_to_serve();
    filled += static_cast<std::size_t>(got);
  }
  return key;
}

}  // namespace

int run(const ServeRequest&) {
  auto channel = channel_of_run();
  const auto key = key_of_run();
  tamiyo::serve_controller(base::LineChannel::over(std::move(channel)), key, make_served);
  return 0;
}

}  // namespace esper::engine
