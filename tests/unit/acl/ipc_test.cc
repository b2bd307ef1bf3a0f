// SPDX-License-Identifier: Apache-2.0
// Device memory shared between processes by key.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

constexpr size_t kBlockSize = 3U << 20;
constexpr uint64_t kAnyImporter = ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION;

unsigned char pattern(size_t i) { return static_cast<unsigned char>(i * 13 + i / 4096); }

/// This process exports one block.
class Ipc : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtMalloc(&block_, kBlockSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    bytes_ = static_cast<unsigned char*>(block_);
    for (size_t i = 0; i < kBlockSize; ++i) bytes_[i] = pattern(i);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(block_), ACL_SUCCESS);
    Acl::TearDown();
  }

  std::string export_block(uint64_t flags) {
    char key[65] = {};
    EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBlockSize, key, sizeof key, flags), ACL_SUCCESS)
        << error_text();
    EXPECT_EQ(std::strlen(key), 64U);
    return key;
  }

  void* block_ = nullptr;
  unsigned char* bytes_ = nullptr;
};

// Waits for a line, imports the key and tells the code; then checks, changes and closes.
int import_block(const std::vector<std::string>& arguments) {
  char go = 0;
  demand(read(STDIN_FILENO, &go, 1) == 1, "line");
  demand(aclrtSetDevice(1) == ACL_SUCCESS, "set device");
  void* memory = nullptr;
  const aclError error = aclrtIpcMemImportByKey(&memory, arguments[0].c_str(),
                                                ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS);
  std::printf("%d %s\n", error, error_text().c_str());
  std::fflush(stdout);
  if (error != ACL_SUCCESS) return 0;

  auto* bytes = static_cast<unsigned char*>(memory);
  for (size_t i = 0; i < kBlockSize; ++i)
    demand(bytes[i] == pattern(i), "byte " + std::to_string(i));
  aclrtPtrAttributes attributes{};
  demand(aclrtPointerGetAttributes(bytes + 5, &attributes) == ACL_SUCCESS, "attributes");
  demand(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE, "device memory");
  demand(aclrtMemsetAsync(bytes, kBlockSize, 7, 100, nullptr) == ACL_SUCCESS, "set");
  demand(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS, "synchronise");
  demand(aclrtFree(memory) == ACL_ERROR_RT_PARAM_INVALID, "free of an import");
  demand(error_text().find("aclrtIpcMemClose") != std::string::npos, "text");
  demand(aclrtIpcMemClose(arguments[0].c_str()) == ACL_SUCCESS, "close");
  demand(aclrtIpcMemClose(arguments[0].c_str()) == ACL_ERROR_RT_PARAM_INVALID, "close twice");
  return 0;
}
[[maybe_unused]] const int kImport = register_child("import_block", import_block);

TEST_F(Ipc, AnotherProcessReadsAndWrites) {
  const std::string key = export_block(kAnyImporter);
  Child child("import_block", {key});
  child.write_line("go");
  EXPECT_EQ(child.read_line(), "0 ");
  EXPECT_EQ(child.wait(), 0);
  for (size_t i = 0; i < kBlockSize; ++i) ASSERT_EQ(bytes_[i], i < 100 ? 7 : pattern(i)) << i;
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

TEST_F(Ipc, OnlyAllowedProcessesImport) {
  const std::string key = export_block(ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT);
  Child stranger("import_block", {key});
  Child friendly("import_block", {key});
  int32_t pids[] = {friendly.pid(), 1};
  ASSERT_EQ(aclrtIpcMemSetImportPid(key.c_str(), pids, 2), ACL_SUCCESS);
  stranger.write_line("go");
  const std::string refused = stranger.read_line();
  EXPECT_EQ(refused.substr(0, 7), "207006 ");
  EXPECT_NE(refused.find("aclrtIpcMemSetImportPid"), std::string::npos);
  EXPECT_EQ(stranger.wait(), 0);
  friendly.write_line("go");
  EXPECT_EQ(friendly.read_line(), "0 ");
  EXPECT_EQ(friendly.wait(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

TEST_F(Ipc, AClosedKeyIsRefused) {
  const std::string key = export_block(kAnyImporter);
  ASSERT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_ERROR_RT_PARAM_INVALID);
  Child child("import_block", {key});
  child.write_line("go");
  const std::string refused = child.read_line();
  EXPECT_EQ(refused.substr(0, 7), "107000 ");
  EXPECT_NE(refused.find("has closed the key"), std::string::npos);
  EXPECT_EQ(child.wait(), 0);
}

// Exports its whole heap, writes into it, prints the key and waits to be killed.
int export_heap(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  void* base = nullptr;
  size_t size = 0;
  demand(aclhostGetHeap(0, &base, &size) == ACL_SUCCESS, "heap");
  void* block = nullptr;
  demand(aclrtMalloc(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS && block == base,
         "block");
  std::memcpy(block, "weft", 5);
  char key[65];
  demand(aclrtIpcMemGetExportKey(base, size, key, sizeof key, kAnyImporter) == ACL_SUCCESS,
         "export");
  std::puts(key);
  std::fflush(stdout);
  char end = 0;
  return static_cast<int>(read(STDIN_FILENO, &end, 1));
}
[[maybe_unused]] const int kExport = register_child("export_heap", export_heap);

TEST_F(Ipc, AWholeHeapOutlivesItsProcessWhereItIsMapped) {
  Child child("export_heap", {});
  const std::string key = child.read_line();
  ASSERT_EQ(key.size(), 64U);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(aclrtIpcMemImportByKey(&first, key.c_str(), 0), ACL_SUCCESS) << error_text();
  ASSERT_EQ(aclrtIpcMemImportByKey(&second, key.c_str(), 0), ACL_SUCCESS) << error_text();
  EXPECT_NE(first, second);
  child.kill();
  EXPECT_STREQ(static_cast<char*>(first), "weft");
  static_cast<char*>(first)[0] = 'W';
  EXPECT_STREQ(static_cast<char*>(second), "Weft");

  void* late = nullptr;
  EXPECT_EQ(aclrtIpcMemImportByKey(&late, key.c_str(), 0), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_NE(error_text().find("does not answer"), std::string::npos);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);  // the oldest first
  EXPECT_STREQ(static_cast<char*>(second), "Weft");
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Ipc, TheSameProcessGetsAMappingOfItsOwn) {
  const std::string key = export_block(ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT);
  void* again = nullptr;
  ASSERT_EQ(aclrtIpcMemImportByKey(&again, key.c_str(), 0), ACL_SUCCESS) << error_text();
  EXPECT_NE(again, block_);
  EXPECT_EQ(std::memcmp(again, block_, kBlockSize), 0);
  bytes_[5] = 99;
  EXPECT_EQ(static_cast<unsigned char*>(again)[5], 99);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);  // the import
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);  // the export
}

TEST_F(Ipc, ArgumentsAreChecked) {
  char key[65] = {};
  void* memory = nullptr;
  int32_t pid = 1;
  EXPECT_EQ(aclrtIpcMemGetExportKey(nullptr, kBlockSize, key, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBlockSize, nullptr, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, 0, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBlockSize, key, 64, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBlockSize, key, 65, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(bytes_ + 64, 4096, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, 100, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(key, 4096, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(error_text().find("multiples of 4096"), std::string::npos);

  const std::string good = export_block(0);
  EXPECT_EQ(aclrtIpcMemSetImportPid(nullptr, &pid, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(good.c_str(), nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(good.c_str(), &pid, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemImportByKey(nullptr, good.c_str(), 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemImportByKey(&memory, good.c_str(), 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemClose(nullptr), ACL_ERROR_INVALID_PARAM);

  // No prefix, no suffix and no single letter changed of a key is a key of anything.
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '~';
    EXPECT_EQ(aclrtIpcMemImportByKey(&memory, bad.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID) << i;
    EXPECT_EQ(aclrtIpcMemImportByKey(&memory, good.substr(0, i).c_str(), 0),
              ACL_ERROR_RT_PARAM_INVALID);
  }
  EXPECT_EQ(aclrtIpcMemImportByKey(&memory, (good + "0").c_str(), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemClose(good.c_str()), ACL_SUCCESS);
}

// A process forked before anything was used has a runtime of its own.
int fork_first(const std::vector<std::string>&) {
  int keys[2];
  int done[2];
  demand(pipe(keys) == 0 && pipe(done) == 0, "pipes");
  const pid_t child = fork();
  if (child == 0) {
    char key[65];
    demand(read(keys[0], key, sizeof key) == sizeof key, "key");
    demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
    void* memory = nullptr;
    demand(aclrtIpcMemImportByKey(&memory, key, 0) == ACL_SUCCESS, "import");
    std::strcpy(static_cast<char*>(memory), "hello");
    demand(write(done[1], "x", 1) == 1, "tell");
    _exit(0);
  }
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  void* block = nullptr;
  demand(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, "malloc");
  char key[65];
  demand(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, kAnyImporter) == ACL_SUCCESS,
         "export");
  char end = 0;
  demand(write(keys[1], key, sizeof key) == sizeof key && read(done[0], &end, 1) == 1, "talk");
  demand(std::strcmp(static_cast<char*>(block), "hello") == 0, "content");
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
[[maybe_unused]] const int kForkFirst = register_child("fork_first", fork_first);

TEST(IpcFork, WorksBetweenProcessesForkedBeforeUse) {
  EXPECT_EQ(Child("fork_first", {}).wait(), 0);
}

void demand_refusal(aclError error, const std::string& what) {
  demand(error == ACL_ERROR_RT_DEV_SETUP_ERROR, what);
  demand(error_text().find("forked after the runtime was used") != std::string::npos, what);
}

// Nothing a process forked too late does reaches its parent's memory.
int fork_late(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  void* block = nullptr;
  demand(aclrtMalloc(&block, kBlockSize, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, "malloc");
  char key[65];
  demand(aclrtIpcMemGetExportKey(block, kBlockSize, key, sizeof key, kAnyImporter) == ACL_SUCCESS,
         "export");
  std::strcpy(static_cast<char*>(block), "mine");
  const pid_t child = fork();
  if (child == 0) {
    void* pointer = nullptr;
    size_t size = 0;
    demand_refusal(aclrtSetDevice(0), "set device");
    demand_refusal(aclrtSetDevice(1), "set another device");
    demand_refusal(aclrtCreateContext(&pointer, 0), "create context");
    demand_refusal(aclhostGetHeap(0, &pointer, &size), "heap");
    demand_refusal(aclrtFree(block), "free");
    demand_refusal(aclrtIpcMemGetExportKey(block, kBlockSize, key, sizeof key, kAnyImporter),
                   "export");
    demand(aclrtCreateStream(&pointer) == ACL_ERROR_RT_CONTEXT_NULL, "create stream");
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  demand(status == 0, "status of the forked process");
  demand(std::strcmp(static_cast<char*>(block), "mine") == 0, "content");
  demand(aclrtMemsetAsync(block, kBlockSize, 1, kBlockSize, nullptr) == ACL_SUCCESS, "set");
  demand(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS, "synchronise");
  return aclrtFree(block);
}
[[maybe_unused]] const int kForkLate = register_child("fork_late", fork_late);

TEST(IpcFork, IsRefusedAfterUse) { EXPECT_EQ(Child("fork_late", {}).wait(), 0); }

}  // namespace
}  // namespace weft::test
