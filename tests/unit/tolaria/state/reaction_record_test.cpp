#include "tolaria/state/reaction_record.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "storage/journal/journal.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::reaction_record_test {

using namespace esper::tolaria;

TEST_CASE("reactions are read back from a journal, without what makes no sense, and forgotten where the run gave up") {
  FaultyFileSystem files;
  const std::vector<ReactionRecord> all{{1, Reaction::kSkipStep, 12, 0},
                                        {2, Reaction::kLowerRate, 12, 0.5},
                                        {3, Reaction::kSplitBatches, 15, 4},
                                        {4, Reaction::kFullPrecision, 15, 0},
                                        {5, Reaction::kSearch, 16, 20, 2}};
  storage::JournalWriter journal(files, "/journal");
  journal.append(R"({"what":"checkpoint","name":"reaction"})");
  for (const auto& reaction : all) journal.append(reaction_json(reaction));
  for (const char* text :
       {R"({"what":"reaction"})", R"({"what":"reaction","number":6,"reaction":"dance","step":1,"value":0})",
        R"({"what":"reaction","number":6,"reaction":"stop","step":1,"value":0})",
        R"({"what":"reaction","number":6,"reaction":"lower_rate","step":1,"value":2})",
        R"({"what":"reaction","number":6,"reaction":"search","step":1,"value":-7})",
        R"({"what":"reaction","number":6,"reaction":"search","step":1,"value":1e300})",
        R"({"what":"reaction","number":9223372036854775807,"reaction":"full_precision","step":1,"value":0})",
        R"({"what":"reaction","number":6,"reaction":"search","step":1,"value":9,"in_a_row":-1})",
        R"({"what":"reaction","number":6,"reaction":"skip_step","step":-1,"value":0})", R"("reaction")"})
    journal.append(text);
  CHECK((read_reactions(files, "/journal", 0) == all));

  journal.append(reactions_over_json());
  CHECK(read_reactions(files, "/journal", 0).empty());
}

}  // namespace esper::test::reaction_record_test
