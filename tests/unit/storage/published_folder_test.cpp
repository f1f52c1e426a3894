#include "storage/published_folder.h"

#include <catch2/catch_test_macros.hpp>

#include "storage/atomic_publish.h"
#include "storage/checksum.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::published_folder_test {

using namespace esper::storage;
using esper::base::IoError;
using esper::test::FaultyFileSystem;

namespace {

FaultyFileSystem& published(FaultyFileSystem& files) {
  publish_folder(files, "ckpt",
                 {{"state.safetensors", [](const ByteSink& sink) { sink(bytes_of("some tensors, as bytes")); }},
                  {"empty", [](const ByteSink&) {}}},
                 {{"step", 7}, {"note", "héllo"}});
  return files;
}

void check_detected(FaultyFileSystem& files, const std::string& what) {
  const auto checked = verify_folder(files, "ckpt");
  INFO(what);
  CHECK_FALSE(checked);
  CHECK_FALSE(checked.error().problem.empty());
}

}  // namespace

TEST_CASE("one flipped bit anywhere in a published folder is detected") {
  FaultyFileSystem files;
  published(files);
  REQUIRE(verify_folder(files, "ckpt"));
  for (const std::string name : {"ckpt/state.safetensors", "ckpt/manifest.json"}) {
    const std::string good = *files.contents(name);
    for (std::size_t i = 0; i < good.size() * 8; ++i) {
      std::string bad = good;
      bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << (i % 8)));
      files.put(name, bad);
      check_detected(files, name + " bit " + std::to_string(i));
    }
    files.put(name, good);
  }
  CHECK(verify_folder(files, "ckpt"));
}

TEST_CASE("a published file of any other length is detected") {
  FaultyFileSystem files;
  published(files);
  for (const std::string name : {"ckpt/state.safetensors", "ckpt/manifest.json", "ckpt/empty"}) {
    const std::string good = *files.contents(name);
    for (std::size_t length = 0; length < good.size(); ++length) {
      files.put(name, good.substr(0, length));
      check_detected(files, name + " cut to " + std::to_string(length));
    }
    files.put(name, good + '\0');
    check_detected(files, name + " one byte longer");
    files.put(name, good);
  }
}

TEST_CASE("a missing file is detected and named") {
  FaultyFileSystem files;
  published(files).remove("ckpt/empty");
  CHECK(verify_folder(files, "ckpt").error().problem.find("ckpt/empty") != std::string::npos);
  files.remove("ckpt/manifest.json");
  CHECK(verify_folder(files, "ckpt").error().problem.find("manifest.json") != std::string::npos);
  CHECK_FALSE(verify_folder(files, "none"));
}

TEST_CASE("a manifest that names files outside of its folder is refused") {
  for (const std::string name : {"../secret", "/etc/passwd", "..", ".", "", "a/b"}) {
    FaultyFileSystem files;
    published(files);
    files.put("ckpt/manifest.json", manifest_text({{{name, 0, "2d06800538d394c2"}}, {}}));
    CHECK(verify_folder(files, "ckpt").error().problem.find("not in its folder") != std::string::npos);
  }
}

TEST_CASE("a manifest of another shape or format is refused with the reason") {
  const auto with_checksum = [](const std::string& body) {
    return "{\"checksum\":\"" + hex64(hash64(bytes_of(body))) + "\"," + body;
  };
  CHECK(parse_manifest(with_checksum(R"("fields":{},"files":[],"format":1})")));
  CHECK(parse_manifest(with_checksum(R"("fields":{},"files":[],"format":2})")).error().problem.find("format 2") !=
        std::string::npos);
  for (const std::string body : {R"("fields":{},"format":1})", R"("files":[{"name":1}],"fields":{},"format":1})",
                                 R"("files":3,"fields":{},"format":1})", "]"}) {
    CHECK_FALSE(parse_manifest(with_checksum(body)));
  }
}

TEST_CASE("a shortage of this process is not blamed on the folder") {
  FaultyFileSystem files;
  published(files);
  files.fail_call(1, EMFILE);
  CHECK_THROWS_AS(verify_folder(files, "ckpt"), IoError);
  files.fail_call(1, EIO);
  CHECK_FALSE(verify_folder(files, "ckpt"));
  CHECK(verify_folder(files, "ckpt"));
}

TEST_CASE("only what is wrong with its bytes makes a folder damaged; what cannot be read is unreadable") {
  FaultyFileSystem files;
  published(files);
  const auto fault_of = [&] {
    const auto checked = verify_folder(files, "ckpt");
    REQUIRE_FALSE(checked);
    return checked.error().fault;
  };
  int failures = 0;
  for (const int error_number : {EIO, EACCES, EPERM, ELOOP}) {
    for (int n = 1; n <= 10; ++n) {
      INFO("errno " << error_number << ", call " << n);
      files.fail_call(n, error_number);
      const auto checked = verify_folder(files, "ckpt");
      if (checked) continue;  // it was that of a close
      CHECK(checked.error().fault == Fault::kUnreadable);
      ++failures;
    }
  }
  CHECK(failures >= 20);
  files.fail_call(0, 0);
  const std::string state = *files.contents("ckpt/state.safetensors"), manifest = *files.contents("ckpt/manifest.json");
  files.put("ckpt/state.safetensors", state.substr(1));
  CHECK(fault_of() == Fault::kDamaged);
  files.put("ckpt/state.safetensors", "S" + state.substr(1));
  CHECK(fault_of() == Fault::kDamaged);
  files.remove("ckpt/state.safetensors");
  CHECK(fault_of() == Fault::kUnreadable);
  files.make_folder("ckpt/state.safetensors");
  CHECK(fault_of() == Fault::kUnreadable);
  files.put("ckpt/manifest.json", manifest.substr(0, manifest.size() - 1));
  CHECK(fault_of() == Fault::kDamaged);
  const std::string later = R"("fields":{},"files":[],"format":2})";
  files.put("ckpt/manifest.json", "{\"checksum\":\"" + hex64(hash64(bytes_of(later))) + "\"," + later);
  CHECK(fault_of() == Fault::kUnreadable);
  files.remove("ckpt/manifest.json");
  CHECK(fault_of() == Fault::kUnreadable);
  CHECK(verify_folder(files, "none").error().fault == Fault::kUnreadable);
}

TEST_CASE("quarantine moves the folder aside under a name of its own") {
  FaultyFileSystem files;
  CHECK(quarantine(published(files), "ckpt") == "ckpt.bad");
  CHECK(quarantine(published(files), "ckpt") == "ckpt.bad-2");
  files.lose_power(esper::test::PowerLoss::kDropAll);
  CHECK(files.names_in(".") == std::vector<std::string>{"ckpt.bad", "ckpt.bad-2"});
  CHECK(verify_folder(files, "ckpt.bad"));
}

}  // namespace esper::test::published_folder_test
