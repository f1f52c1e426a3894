#pragma once
// The folder that an export writes: there whole, or not at all.

#include <string>
#include <vector>

#include "esper/engine_api.h"
#include "storage/atomic_publish.h"

namespace esper::engine {

// Throws Error{kConfig} where something is in the request's place that it does not ask to replace, or that no export
// wrote.
void require_export_place(const ExportRequest& request);

// Makes it of these files. What it replaces stays until they are there. Throws as require_export_place() does, for what
// came there since, and IoError; then all is as it was.
void publish_export(const ExportRequest& request, const std::vector<storage::FolderFile>& files);

}  // namespace esper::engine
