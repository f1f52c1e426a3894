#include "program/package.h"

#include <caffe2/serialize/inline_container.h>
#include <elf.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/types.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "base/file_system.h"
#include "base/text/cerr_capture.h"
#include "device/out_of_memory.h"
#include "program/compile/loading_folder.h"

namespace esper::program {

// As the worker writes it (compile/worker/job.py).
constexpr char kInputsFact[] = "esper_inputs";
const std::string kNoLoad = "cannot load the compiled program: ", kNoRun = "the compiled program failed: ";

namespace {

constexpr std::size_t kLargestPackage = std::size_t{4} << 30;

// Torch's own loader of packages unpacks into a folder that a killed process leaves behind: so it is done here. What a
// library needs besides itself it finds by its own path (X.so: X.json, the operators that have no C interface) or in
// the folder that it is given (kernels of a GPU).
struct Unpacked {
  std::string library;  // path
  nlohmann::json facts;
};

// A shared library that ends too early kills the process that loads it. Its section table is its last part.
void check_library(std::string_view contents) {
  Elf64_Ehdr header{};
  std::memcpy(&header, contents.data(), std::min(contents.size(), sizeof header));
  const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
  if (header.e_shoff == 0 || end > contents.size()) throw std::runtime_error("its shared library is truncated");
}

Unpacked unpack(const std::string& path, const LoadingFolder& folder) {
  caffe2::serialize::PyTorchStreamReader package(path);
  Unpacked result;
  std::size_t total = 0;
  for (const std::string& record : package.getAllRecords()) {
    const std::string name = record.substr(record.find_last_of('/') + 1);
    // Sources travel along for users.
    if (!record.starts_with("data/aotinductor/model/") || name.ends_with(".cpp")) continue;
    total += package.getRecordSize(record);
    if (total > kLargestPackage) throw std::runtime_error("it is larger than 4 GiB");
    const auto [data, size] = package.getRecord(record);
    const std::string_view contents(static_cast<const char*>(data.get()), size);
    if (name.ends_with(".wrapper_metadata.json")) {
      result.facts = nlohmann::json::parse(contents);
      continue;
    }
    const std::string file = folder.put(name, contents);
    if (!name.ends_with(".so")) continue;
    check_library(contents);
    result.library = file;
  }
  if (result.library.empty() || !result.facts.is_object()) throw std::runtime_error("it contains no compiled program");
  return result;
}

// In what a package printed: the first line of the first error, without torch's backtrace. Empty: there is none.
std::string printed_cause(std::string_view printed) {
  for (const std::string_view mark : {"Exception in aoti_torch: ", "Error: "}) {
    const auto at = printed.find(mark);
    if (at == std::string_view::npos) continue;
    printed.remove_prefix(at + mark.size());
    return std::string(printed.substr(0, printed.find('\n')));
  }
  return {};
}

// Torch's C interface, which a package calls (aoti_torch/utils.h), and the package's own print why they failed, with a
// backtrace, and return only that they did.
template <class Call>
auto with_cause(const std::string& what, const Call& call) -> decltype(call()) {
  base::CerrCapture printed;
  try {
    return call();
  } catch (const std::runtime_error&) {
    const std::string cause = printed_cause(printed.text());
    if (cause.empty()) throw;
    printed.discard();
    throw std::runtime_error(what + cause);
  }
}

// The dynamic linker's message shows whether the machine lacks what the library needs: another library, or the right to
// execute files of the temporary folder. The package may then be good.
[[noreturn]] void refuse(const c10::Error& error, const std::string& path) {
  const std::string problem = kNoLoad + error.what_without_backtrace();
  const auto says = [&](std::string_view words) { return problem.find(words) != std::string::npos; };
  const bool lacks_memory = !device::out_of_memory_message(error).empty();
  if (!lacks_memory && says("cannot open shared object file")) {
    throw base::IoError(base::ExitCode::kResources, problem, path, ELIBACC);
  }
  if (!lacks_memory && says("failed to map segment")) {
    throw base::IoError(base::ExitCode::kResources, problem + "; set TMPDIR to a folder that is not mounted noexec",
                        path, ENOEXEC);
  }
  throw base::Error(base::ExitCode::kResources, problem);
}

// One thread: one run at a time needs no lock around each, and on a GPU no events between runs, which a captured run
// could not ask. Without a stream handle the CUDA runner takes the current stream
// (AOTIModelContainerRunnerCuda::run_impl).
std::unique_ptr<torch::inductor::AOTIModelContainerRunner> load(const std::string& library, const std::string& folder,
                                                                c10::Device device) {
  constexpr bool kOneThread = true;
  constexpr std::size_t kOneRunner = 1;
  const auto& makers = torch::inductor::getAOTIModelRunnerRegistry();
  const auto maker = makers.find(c10::DeviceTypeName(device.type(), /*lower_case=*/true));
  if (maker == makers.end()) throw std::runtime_error("this torch cannot run one on " + device.str());
  return with_cause("", [&] { return maker->second(library, kOneRunner, device.str(), folder, kOneThread); });
}

}  // namespace

Package::Package(const std::string& path, const std::string& inputs, c10::Device device)
    : folder_(std::make_unique<LoadingFolder>()) {
  nlohmann::json facts;
  try {
    auto unpacked = unpack(path, *folder_);
    runner_ = load(unpacked.library, folder_->path(), device);
    facts = std::move(unpacked.facts);
  } catch (const base::IoError&) {
    throw;  // of the temporary folder
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::Error& error) {
    refuse(error, path);
  } catch (const std::exception& error) {
    throw base::Error(base::ExitCode::kResources, kNoLoad + error.what());
  }
  if (device.is_cpu()) folder_->remove();
  const auto compiled_for = facts.find(kInputsFact);
  if (compiled_for == facts.end() || *compiled_for != inputs) {
    throw base::Error(base::ExitCode::kResources, "the compiled program was made for other inputs");
  }
}
Package::~Package() = default;
Package::Package(Package&&) noexcept = default;

void Package::run(const std::vector<at::Tensor>& inputs) const {
  const c10::InferenceMode inference;
  with_cause(kNoRun, [&] { runner_->run(inputs); });
}

}  // namespace esper::program
