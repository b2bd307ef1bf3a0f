// SPDX-License-Identifier: Apache-2.0
// Physical memory shared between processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "vmm_support.hpp"

namespace weft::test {
namespace {

class VmmIpc : public VmmTest {
 protected:
  uint64_t share(aclrtDrvMemHandle handle, uint64_t flags) {
    uint64_t shareable = 0;
    EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, flags, &shareable),
              ACL_SUCCESS)
        << error_text();
    EXPECT_NE(shareable, 0U);
    return shareable;
  }
};

constexpr uint64_t kAnyProcess = ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
constexpr size_t kSharedSize = 2 * kUnit;

unsigned char shared_byte(size_t i) { return static_cast<unsigned char>(i * 11 + i / 4096); }

void wait_for_line() {
  char letter = 0;
  while (letter != '\n') demand(read(STDIN_FILENO, &letter, 1) == 1, "line");
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

aclError import_as(const std::string& text, const std::string& form, aclrtDrvMemHandle* handle) {
  uint64_t value = std::stoull(text.substr(0, 16), nullptr, 16);
  if (form == "v1") return aclrtMemImportFromShareableHandle(value, 1, handle);
  if (form == "v2") {
    return aclrtMemImportFromShareableHandleV2(&value, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0,
                                               handle);
  }
  aclrtMemFabricHandle fabric{};
  for (size_t i = 0; i < sizeof fabric.data; ++i) {
    fabric.data[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  return aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, handle);
}

// Waits for a line, imports, tells the code; then checks, changes and gives back.
int import_memory(const std::vector<std::string>& arguments) {
  wait_for_line();
  demand(aclrtSetDevice(1) == ACL_SUCCESS, "set device");
  aclrtDrvMemHandle handle = nullptr;
  const aclError error = import_as(arguments[0], arguments[1], &handle);
  say(std::to_string(error) + " " + error_text());
  if (error != ACL_SUCCESS) return 0;
  aclrtDrvMemHandle again = nullptr;
  demand(import_as(arguments[0], arguments[1], &again) == ACL_SUCCESS, "import twice");
  demand(again == handle, "one handle");
  demand(aclrtFreePhysical(again) == ACL_SUCCESS, "free of the second import");
  uint64_t shareable = 0;
  demand(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable) ==
             ACL_ERROR_RT_PARAM_INVALID,
         "export of an import");
  aclrtPhysicalMemProp prop{};
  demand(aclrtMemGetAllocationPropertiesFromHandle(handle, &prop) == ACL_SUCCESS, "properties");
  demand(prop.location.id == 0 && prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE, "location");
  int32_t enabled = 0;
  demand(aclrtDevicePeerAccessStatus(1, 0, &enabled) == ACL_SUCCESS && enabled == 1, "peer");

  void* base = nullptr;
  demand(aclrtReserveMemAddress(&base, 2 * kSharedSize, 0, nullptr, 1) == ACL_SUCCESS, "reserve");
  demand(aclrtMapMem(base, kSharedSize, 0, handle, 0) == ACL_SUCCESS, "map");
  demand(aclrtFreePhysical(handle) == ACL_SUCCESS, "free");
  for (size_t i = 0; i < kSharedSize; ++i) {
    if (bytes_of(base)[i] != shared_byte(i)) demand(false, "byte " + std::to_string(i));
  }
  aclrtDrvMemHandle own = nullptr;
  prop = device_memory(0);
  demand(aclrtMallocPhysical(&own, kSharedSize, &prop, 0) == ACL_SUCCESS, "allocate");
  demand(aclrtMapMem(bytes_of(base) + kSharedSize, kSharedSize, 0, own, 0) ==
             ACL_ERROR_RT_PARAM_INVALID,
         "own and imported memory in one range");
  demand(aclrtMemsetAsync(base, kSharedSize, 7, 100, nullptr) == ACL_SUCCESS, "set");
  demand(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS, "synchronise");
  demand(aclrtUnmapMem(base) == ACL_SUCCESS, "unmap");
  demand(aclrtMapMem(base, kSharedSize, 0, handle, 0) == ACL_ERROR_RT_INVALID_HANDLE,
         "freed handle");
  return aclrtReleaseMemAddress(base);
}
[[maybe_unused]] const int kImportMemory = register_child("import_memory", import_memory);

std::string to_hex(const void* data, size_t size) {
  std::string text;
  char two[3];
  for (size_t i = 0; i < size; ++i) {
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += two;
  }
  return text;
}

std::string to_hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

TEST_F(VmmIpc, AnotherProcessReadsAndWrites) {
  for (const char* form : {"v1", "v2", "fabric"}) {
    void* base = reserve(kSharedSize);
    aclrtDrvMemHandle handle = allocate(kSharedSize);
    map(base, kSharedSize, handle);
    for (size_t i = 0; i < kSharedSize; ++i) bytes_of(base)[i] = shared_byte(i);
    std::string text;
    if (std::string(form) == "v1") {
      text = to_hex(share(handle, kAnyProcess));
    } else if (std::string(form) == "v2") {
      uint64_t value = 0;
      ASSERT_EQ(aclrtMemExportToShareableHandleV2(handle, kAnyProcess,
                                                  ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &value),
                ACL_SUCCESS);
      text = to_hex(value);
    } else {
      aclrtMemFabricHandle fabric;
      ASSERT_EQ(aclrtMemExportToShareableHandleV2(handle, kAnyProcess,
                                                  ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
                ACL_SUCCESS);
      text = to_hex(&fabric, sizeof fabric);
    }
    Child child("import_memory", {text, form});
    child.write_line("go");
    EXPECT_EQ(child.read_line(), "0 ") << form;
    EXPECT_EQ(child.wait(), 0) << form;
    for (size_t i = 0; i < kSharedSize; ++i) {
      ASSERT_EQ(bytes_of(base)[i], i < 100 ? 7 : shared_byte(i)) << i;
    }
    unmap(base);
    free_memory(handle);
    release(base);
  }
}

TEST_F(VmmIpc, OnlyAllowedProcessesImport) {
  void* base = reserve(kSharedSize);
  aclrtDrvMemHandle handle = allocate(kSharedSize);
  map(base, kSharedSize, handle);
  for (size_t i = 0; i < kSharedSize; ++i) bytes_of(base)[i] = shared_byte(i);
  const uint64_t shareable = share(handle, 0);
  Child stranger("import_memory", {to_hex(shareable), "v1"});
  Child friendly("import_memory", {to_hex(shareable), "v1"});
  int32_t pids[] = {friendly.pid(), 1};
  ASSERT_EQ(aclrtMemSetPidToShareableHandle(shareable, pids, 2), ACL_SUCCESS) << error_text();
  stranger.write_line("go");
  const std::string refused = stranger.read_line();
  EXPECT_EQ(refused.substr(0, 7), "207006 ");
  EXPECT_NE(refused.find("aclrtMemSetPidToShareableHandle"), std::string::npos) << refused;
  EXPECT_EQ(stranger.wait(), 0);
  friendly.write_line("go");
  EXPECT_EQ(friendly.read_line(), "0 ");
  EXPECT_EQ(friendly.wait(), 0);
  unmap(base);
  free_memory(handle);
  release(base);
}

TEST_F(VmmIpc, FreedMemoryIsNotImported) {
  aclrtDrvMemHandle handle = allocate(kSharedSize);
  const uint64_t shareable = share(handle, kAnyProcess);
  free_memory(handle);
  Child child("import_memory", {to_hex(shareable), "v1"});
  child.write_line("go");
  const std::string refused = child.read_line();
  EXPECT_EQ(refused.substr(0, 7), "107000 ");
  EXPECT_NE(refused.find("freed"), std::string::npos) << refused;
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(VmmIpc, MistakesOfSharingAreNamed) {
  aclrtDrvMemHandle handle = allocate(kUnit);
  uint64_t value = 0;
  int32_t pid = 1;
  const auto none = ACL_MEM_HANDLE_TYPE_NONE;
  EXPECT_EQ(aclrtMemExportToShareableHandle(nullptr, none, 0, &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle, none, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_POSIX, 0, &value),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle, none, 2, &value), ACL_ERROR_RT_PARAM_INVALID);
  const auto wrong = enum_value<aclrtMemSharedHandleType>(3);
  EXPECT_EQ(aclrtMemExportToShareableHandleV2(handle, 0, wrong, &value), ACL_ERROR_INVALID_PARAM);
  const uint64_t shareable = share(handle, kAnyProcess);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle, none, 0, &value), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("exported the handle before");
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 1), ACL_ERROR_RT_NO_PERMISSION);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 65536), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(12345, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable ^ 1, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);

  aclrtDrvMemHandle imported = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &imported), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("this process has exported");
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 99, &imported),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(0x1234500000001, 0, &imported),
            ACL_ERROR_RT_IPC_ERROR);
  expect_text("does not answer");
  value = shareable;
  const auto number = ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT;
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&value, number, 1, &imported),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(nullptr, number, 0, &imported),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&value, wrong, 0, &imported),
            ACL_ERROR_INVALID_PARAM);
  aclrtMemFabricHandle fabric{};
  EXPECT_EQ(
      aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &imported),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&value, number, &pid, 1), ACL_ERROR_RT_NO_PERMISSION);
  EXPECT_EQ(imported, nullptr);
  free_memory(handle);
}

// Exports memory that nobody refers to but its mapping, and waits to be killed.
int export_and_wait(const std::vector<std::string>&) {
  const aclrtPhysicalMemProp prop = device_memory(1);
  aclrtDrvMemHandle handle = nullptr;
  void* base = nullptr;
  uint64_t shareable = 0;
  demand(aclrtMallocPhysical(&handle, kUnit, &prop, 0) == ACL_SUCCESS, "allocate");
  demand(aclrtReserveMemAddress(&base, kUnit, 0, nullptr, 1) == ACL_SUCCESS, "reserve");
  demand(aclrtMapMem(base, kUnit, 0, handle, 0) == ACL_SUCCESS, "map");
  demand(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, kAnyProcess,
                                         &shareable) == ACL_SUCCESS,
         "export");
  demand(aclrtFreePhysical(handle) == ACL_SUCCESS, "free");
  std::strcpy(static_cast<char*>(base), "weft");
  say(to_hex(shareable));
  wait_for_line();
  return 1;
}
[[maybe_unused]] const int kExportMemory = register_child("export_and_wait", export_and_wait);

TEST_F(VmmIpc, ImportedMemoryOutlivesTheExporter) {
  Child child("export_and_wait", {});
  const uint64_t shareable = std::stoull(child.read_line(), nullptr, 16);
  int32_t pid = getpid();
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("has not exported");
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &handle), ACL_SUCCESS) << error_text();
  child.kill();
  void* base = reserve(kUnit);
  map(base, kUnit, handle);
  EXPECT_STREQ(static_cast<char*>(base), "weft");
  aclrtPtrAttributes attributes{};
  ASSERT_EQ(aclrtPointerGetAttributes(base, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.id, 1U);
  aclrtDrvMemHandle late = nullptr;
  ASSERT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &late), ACL_SUCCESS);  // has it already
  EXPECT_EQ(late, handle);
  free_memory(late);
  free_memory(handle);
  unmap(base);
  release(base);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &late), ACL_ERROR_RT_IPC_ERROR);
}

// Mapped memory is shared by key as well, in whole pages of one mapping.
TEST_F(VmmIpc, MappedMemoryIsExportedByKey) {
  void* base = reserve(2 * kUnit);
  aclrtDrvMemHandle handle = allocate(kUnit);
  map(base, kUnit, handle);
  char key[65];
  unsigned char* bytes = bytes_of(base);
  EXPECT_EQ(aclrtIpcMemGetExportKey(bytes, 2 * kUnit, key, 65, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(bytes + kUnit, kUnit, key, 65, 1), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtIpcMemGetExportKey(bytes + 4096, 8192, key, 65, 1), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 2),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemSetAttr(nullptr, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0),
            ACL_ERROR_INVALID_PARAM);
  aclrtServerPid server{};
  EXPECT_EQ(aclrtIpcMemImportPidInterServer(key, &server, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  void* import = nullptr;
  ASSERT_EQ(aclrtIpcMemImportByKey(&import, key, 0), ACL_SUCCESS) << error_text();
  bytes[4096 + 5] = 55;
  EXPECT_EQ(bytes_of(import)[5], 55);
  unmap(base);
  free_memory(handle);
  EXPECT_EQ(bytes_of(import)[5], 55);
  EXPECT_EQ(aclrtIpcMemClose(key), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemClose(key), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  release(base);
}

}  // namespace
}  // namespace weft::test
