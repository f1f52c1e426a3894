#include "tolaria/checkpoint/decision_file.h"

#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "history/growth/decision_log.h"
#include "storage/atomic_publish.h"
#include "storage/bytes.h"
#include "storage/file_tools.h"

namespace esper::tolaria {

void DecisionFile::open() {
  auto file = files_->open(path_, base::OpenMode::kAppend);
  bytes_ = file.size();
  std::array last{std::byte('\n')};
  if (bytes_ > 0) files_->open(path_, base::OpenMode::kRead).read_at(bytes_ - 1, last);
  is_torn_ = last[0] != std::byte('\n');
  file_ = std::move(file);
}

// In a file of its own: where that fails, too, this one still has all that the kernel can give.
void DecisionFile::write_again() {
  std::vector<std::byte> all(bytes_);
  all.resize(files_->open(path_, base::OpenMode::kRead).read_at(0, all));
  file_.reset();
  storage::publish_file(*files_, path_, all);
  open();
}

void DecisionFile::append(const leyline::DecisionLine& record) {
  if (!file_) open();
  std::string line = is_torn_ ? "\n" : "";
  line += std::visit([](const auto& of_kind) { return leyline::decision_line(of_kind); }, record);
  if (line.size() > leyline::kMostDecisionLine || bytes_ + line.size() + 1 > history::kMostDecisionLogBytes) {
    throw base::IoError("append to", path_, EFBIG);
  }
  line += '\n';
  try {
    file_->write(storage::bytes_of(line));
  } catch (const base::IoError&) {
    file_.reset();  // how much was written is found when it is opened again
    throw;
  }
  bytes_ += line.size();
  is_torn_ = false;
  is_dirty_ = true;
}

void DecisionFile::sync() {
  if (!is_dirty_) return;
  if (!file_) open();
  if (failed_to_sync_) write_again();
  failed_to_sync_ = true;
  file_->sync();
  failed_to_sync_ = false;
  files_->sync_folder(storage::parent_of(path_));
  is_dirty_ = false;
}

}  // namespace esper::tolaria
