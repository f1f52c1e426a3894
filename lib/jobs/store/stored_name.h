#pragma once
// Enums in the database: by name. One thread.

#include "base/names.h"
#include "jobs/database/database.h"

namespace esper::jobs {

// Throws DatabaseError for a name that the enum does not have.
template <class Enum>
Enum stored_name(const Statement& row, int column) {
  const auto value = base::from_name<Enum>(row.text(column));
  if (!value) throw DatabaseError("database: unknown name " + row.text(column), SQLITE_CORRUPT, "damaged row");
  return *value;
}

}  // namespace esper::jobs
