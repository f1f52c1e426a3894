#include "sweep/sweep_reader.h"

#include <utility>

#include "config/fields/field_rows.h"
#include "sweep/parameter_reader.h"
#include "sweep/seed_list.h"

namespace esper::sweep {
namespace {

constexpr const char *kOwnSeeds = "seeds", *kOwnParameters = "parameters";

std::vector<config::FieldRow> rows_of(SweepSettings& settings) {
  std::vector<config::FieldRow> rows;
  config::append_rows(settings, "", rows);
  return rows;
}

}  // namespace

SweepReader::SweepReader(Sweep& out, std::vector<base::Problem>& problems)
    : out_(out), problems_(problems), fields_(rows_of(out.settings), problems) {
  fields_.add_key(kOwnSeeds, [this](const config::YamlNode& seeds) { out_.seeds = read_seeds(seeds, problems_); });
  fields_.add_key(kOwnParameters, [](const config::YamlNode&) {});
}

void SweepReader::read(const config::YamlNode& root) {
  fields_.read(root);
  // Last, since the method says what a parameter may be.
  for (const config::YamlEntry& entry : root.entries) {
    if (entry.key != kOwnParameters) continue;
    out_.parameters = ParameterReader(out_.settings.method, problems_).read(entry.value);
  }
}

}  // namespace esper::sweep
