#include "runs/changed_epochs.h"

#include "base/parse_number.h"
#include "history/setting_change.h"
#include "storage/confined_file_system.h"

namespace esper::runs {

std::optional<std::int64_t> changed_epochs(const std::string& run) {
  storage::ConfinedFileSystem files(run, storage::Owner::kAnyone);
  std::optional<std::int64_t> epochs;
  for (const auto& change : history::accepted_changes(files, run)) {
    if (change.field == "epochs") epochs = base::parse_number<std::int64_t>(change.value);
  }
  return epochs;
}

}  // namespace esper::runs
