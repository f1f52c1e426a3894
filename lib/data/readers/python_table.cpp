#include "data/readers/python_table.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "base/names.h"
#include "base/text/child_process.h"
#include "base/text/line_channel.h"
#include "base/text/printable.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"
#include "table_bridge.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kLongestBridgeSilence{300}, kLongestBridgeEnd{5};
// What the bridge writes before and behind the text, or instead of its end.
constexpr char kBegin[] = "ok\n", kEnd[] = "end of the table\n", kProblem[] = "error: ";

std::string python() {
  const char* named = std::getenv("ESPER_PYTHON");
  return named != nullptr && *named != '\0' ? named : ESPER_PRIVATE_PYTHON;
}

// The bridge as a child process. Ends with its scope.
class Bridge {
 public:
  Bridge(config::DataKind kind, const fs::path& path, const ReadOptions& options) : path_(path), options_(options) {
    const auto program = python();
    std::error_code ignored;
    if (!fs::exists(program, ignored)) {
      fail("there is no Python at " + program +
           " to read it; run scripts/bootstrap --tables, or set ESPER_PYTHON to one with pyarrow");
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(std::string("cannot make a pipe: ") + std::strerror(errno));
    text_ = base::Descriptor(ends[0]);
    const base::Descriptor theirs(ends[1]), nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string script(kTableBridge), name(base::name_of(kind));
    try {
      child_ = base::start_child(
          {.command = {program, "-I", "-c", script, name, path.string(), ESPER_TABLES},
           .files = {
               {STDIN_FILENO, nothing.number()}, {STDOUT_FILENO, theirs.number()}, {STDERR_FILENO, STDERR_FILENO}}});
    } catch (const std::system_error& error) {
      fail(program + " cannot be started: " + error.what());
    }
  }
  ~Bridge() {
    if (child_ >= 0) base::end_group(child_, kLongestBridgeEnd);
  }
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  Bytes read() {
    const auto usable = usable_memory(options_);
    constexpr std::size_t kMostRead = 1 << 20;
    Bytes text;
    for (std::size_t size = 0;;) {
      // A vector that grows has its old memory beside the new one.
      if (static_cast<std::int64_t>(3 * size) > usable.bytes) {
        fail_memory(path_, "its rows as text", "more than " + base::mebibytes(usable.bytes), usable);
      }
      text.resize(size + kMostRead);
      const auto got = read_some(text.data() + size, kMostRead);
      size += got;
      text.resize(size);
      if (got == 0) break;
    }
    return checked(std::move(text));
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { fail_input(path_, "", problem); }

  std::size_t read_some(std::uint8_t* into, std::size_t most) const {
    for (;;) {
      pollfd ready{text_.number(), POLLIN, 0};
      const int events = ::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kLongestBridgeSilence).count()));
      if (events < 0 && errno == EINTR) continue;
      if (events <= 0) fail("the Python process that reads it does not respond any more");
      const auto got = ::read(text_.number(), into, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail("the output of the Python process that reads it cannot be read");
    }
  }

  // It wrote all, or says why not: also behind rows that it had written before.
  Bytes checked(Bytes text) const {
    const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
    if (view.starts_with(kBegin) && view.ends_with(kEnd)) {
      text.resize(text.size() - (sizeof kEnd - 1));
      text.erase(text.begin(), text.begin() + sizeof kBegin - 1);
      return text;
    }
    const auto at = view.rfind(kProblem);
    const bool says = at != view.npos && (at == 0 || view[at - 1] == '\n');
    if (!says) fail("the Python process that reads it ended before the end of the table");
    const auto problem = view.substr(at + sizeof kProblem - 1);
    fail(base::shortened(base::printable_line(problem.substr(0, problem.find('\n'))), 400));
  }

  const fs::path& path_;
  const ReadOptions& options_;
  base::Descriptor text_;
  pid_t child_ = -1;
};

}  // namespace

Bytes read_python_table(config::DataKind kind, const fs::path& path, const ReadOptions& options) {
  return Bridge(kind, path, options).read();
}

}  // namespace esper::data
