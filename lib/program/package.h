#pragma once
// A compiled program: a package that AOTInductor made. Training thread.

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace torch::inductor {
class AOTIModelContainerRunner;
}

namespace esper::program {

class LoadingFolder;

class Package {
 public:
  // Loads native code: only packages from a folder that nobody else writes to. Throws base::Error{kResources} with
  // the reason where it does not load, or was compiled for other inputs than `inputs` (inputs_text of the program): it
  // would read and write beyond them. An IoError is the machine's fault, and no package of the program would load.
  // Unpacked files are removed when it returns; on a GPU, whose kernels are loaded at the first run, with the object.
  // The file at `path` is not needed any more. On a GPU `device` names which; the package was compiled for its kind.
  Package(const std::string& path, const std::string& inputs, c10::Device device);
  ~Package();
  Package(Package&&) noexcept;

  // inputs: parallel to the program's, of the recorded types; those that the program writes are written.
  // On a GPU the work is queued on the current stream. Throws what torch throws; where torch only prints the cause, a
  // std::runtime_error with its first line instead.
  void run(const std::vector<at::Tensor>& inputs) const;

 private:
  std::unique_ptr<LoadingFolder> folder_;
  std::unique_ptr<torch::inductor::AOTIModelContainerRunner> runner_;
};

}  // namespace esper::program
