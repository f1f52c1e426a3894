#include "program/compile/io_failure.h"

#include "storage/beneath.h"

namespace esper::program {
namespace {

constexpr char kOtherCacheFolder[] = "; set another cache folder with --cache-dir or ESPER_CACHE";

}  // namespace

IoFailure io_failure(const base::IoError& error) {
  const bool has_way_out = dynamic_cast<const storage::UnsafePath*>(&error) != nullptr;
  return {error.out_of_space() ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused,
          std::string(error.what()) + (has_way_out ? "" : kOtherCacheFolder)};
}

}  // namespace esper::program
