#pragma once
// The folder that an export writes: there whole, or not at all.

#include <string>
#include <vector>

#include "esper/engine_api.h"
#include "storage/atomic_publish.h"

namespace esper::engine {

// Throws Error{kConfig} where the request's folder is to be replaced and is none that an export wrote.
void require_replaceable(const ExportRequest& request);

// Makes it of these files. What it replaces stays until they are there. Throws IoError; then all is as it was.
void publish_export(const ExportRequest& request, const std::vector<storage::FolderFile>& files);

}  // namespace esper::engine
