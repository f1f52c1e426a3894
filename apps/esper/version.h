#pragma once
// Build facts. Without front.h, whose CLI11 costs seconds: version.cpp is recompiled for each commit.

#include <string>

namespace esper {

// What `esper --version` prints; returns the exit code.
int print_version(bool json);
// The commit that was built.
std::string build_commit();
// "1.0.0 (commit 0123456)", for what names the program that made it.
std::string build_name();
bool has_cuda_side();

}  // namespace esper
