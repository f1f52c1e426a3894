#include "jobs/process/job_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/file_system.h"
#include "base/parse_number.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostRecordBytes = 4u << 20;
constexpr int kStartField = 22;  // of /proc/PID/stat, see proc(5)

template <class Record>
nlohmann::json known_fields_of(const nlohmann::json& document) {
  if (!document.is_object()) return document;
  auto known = nlohmann::json::object();
  const auto copy = [&](const char* name) {
    if (const auto found = document.find(name); found != document.end()) known[name] = *found;
  };
  std::apply([&](const auto&... field) { (copy(field.name), ...); }, json_members(static_cast<const Record*>(nullptr)));
  return known;
}

template <class Record>
std::optional<Record> read_record(const std::string& path) {
  try {
    const auto bytes = storage::read_file(storage::real_file_system(), path, kMostRecordBytes);
    const auto document =
        base::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kMostRecordBytes);
    if (!document) return std::nullopt;
    const auto record = base::from_json<Record>(known_fields_of<Record>(*document));
    return record ? std::optional(*record) : std::nullopt;
  } catch (const base::IoError&) {
    return std::nullopt;
  }
}

template <class Record>
std::optional<Record> read_record_of(const std::string& path, std::int64_t attempt) {
  auto record = read_record<Record>(path);
  return record && record->attempt == attempt ? record : std::nullopt;
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::optional<AttemptRecord> read_attempt(const JobFolder& folder) {
  return read_record<AttemptRecord>(folder.attempt());
}
std::optional<ProcessRecord> read_process(const JobFolder& folder, std::int64_t attempt) {
  return read_record_of<ProcessRecord>(folder.process(), attempt);
}
std::optional<ExitRecord> read_exit(const JobFolder& folder, std::int64_t attempt) {
  return read_record_of<ExitRecord>(folder.exit(), attempt);
}

void write_record(const std::string& path, const nlohmann::json& record) {
  storage::publish_file(storage::real_file_system(), path, storage::bytes_of(base::json_line(record) + "\n"));
}

void remove_records(const JobFolder& folder) {
  for (const std::string& path : {folder.process(), folder.exit()})
    storage::remove_published(storage::real_file_system(), path);
}

std::optional<ProcessIdentity> identity_of(pid_t pid) {
  const std::string line = first_line_of("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= kStartField; ++number) fields >> field;
  if (!fields) return std::nullopt;
  return ProcessIdentity{pid, std::stoll(field), first_line_of("/proc/sys/kernel/random/boot_id")};
}

bool send_signal(const ProcessIdentity& process, int signal, SignalTarget target) {
  if (process.pid <= 1) return false;
  const auto pid = static_cast<pid_t>(process.pid);
  // From here on the number stays this process's, whether it lives or not.
  const base::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle.is_open() || identity_of(pid) != process) return false;
  if (target == SignalTarget::kGroup) return ::kill(-pid, signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, handle.number(), signal, nullptr, 0) == 0;
}

base::Descriptor try_lock(const JobFolder& folder) {
  base::Descriptor lock(::open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) throw base::IoError("open", folder.lock(), errno);
  if (::flock(lock.number(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) throw base::IoError("lock", folder.lock(), errno);
  return base::Descriptor();
}

JobId highest_job_in(const std::string& folder) {
  JobId highest = 0;
  try {
    for (const auto& entry : storage::real_file_system().list(folder)) {
      highest = std::max(highest, base::parse_number<JobId>(entry.name).value_or(0));
    }
  } catch (const base::IoError& error) {
    if (error.error_number() != ENOENT) throw;
  }
  return highest;
}

base::Descriptor open_alive(const JobFolder& folder, int flags) {
  const std::string path = folder.alive();
  if (::mkfifo(path.c_str(), 0600) < 0 && errno != EEXIST) throw base::IoError("make", path, errno);
  base::Descriptor alive(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  if (!alive.is_open()) throw base::IoError("open", path, errno);
  return alive;
}

}  // namespace esper::jobs
