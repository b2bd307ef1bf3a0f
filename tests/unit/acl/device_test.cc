// SPDX-License-Identifier: Apache-2.0
// Devices and contexts: binding of threads, reference counts, identity, peers, environment.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

TEST(Device, AThreadHasNoneAtFirst) {
  std::thread([] {
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(error_text(), "");
    EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM);
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_NE(error_text().find("aclrtSetDevice"), std::string::npos);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
}

TEST(Device, IsCountedAcrossThreads) {
  ASSERT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
  std::thread([] { EXPECT_EQ(aclrtSetDevice(2), ACL_SUCCESS); }).join();
  EXPECT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 2);
  int32_t active = -1;
  EXPECT_EQ(aclrtGetPrimaryCtxState(2, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetPrimaryCtxState(2, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtResetDevice(2), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
  EXPECT_EQ(aclrtResetDeviceForce(2), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
}

TEST(Device, ResetWaitsForItsStreamsAndDestroysThem) {
  ASSERT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::atomic<int> runs{0};  // two streams: their tasks may run at the same time
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
  ASSERT_EQ(launch(nullptr, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDeviceForce(3), ACL_SUCCESS);
  EXPECT_EQ(runs, 2);
  ASSERT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  ASSERT_EQ(aclrtResetDevice(3), ACL_SUCCESS);
}

TEST(Device, IdsAreChecked) {
  for (const int32_t bad : {-1, 8, 1000}) {
    EXPECT_EQ(aclrtSetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtResetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID);
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtCreateContext(&context, bad), ACL_ERROR_RT_INVALID_DEVICEID);
  }
  EXPECT_NE(error_text().find("WEFT_DEVICES"), std::string::npos);
}

TEST(Device, TellsWhatItIs) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 8U);
  EXPECT_EQ(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910_9391");
  aclrtRunMode mode = ACL_DEVICE;
  ASSERT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  int32_t pid = 0;
  ASSERT_EQ(aclrtDeviceGetBareTgid(&pid), ACL_SUCCESS);
  EXPECT_EQ(pid, getpid());
  int64_t value = 0;
  ASSERT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value), ACL_SUCCESS);
  EXPECT_GT(value, 0);
  ASSERT_EQ(aclrtGetDeviceInfo(5, ACL_DEV_ATTR_PHY_CHIP_ID, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 2);
  ASSERT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 2201);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtGetDeviceInfo(8, ACL_DEV_ATTR_NPU_ARCH, &value), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, nullptr), ACL_ERROR_INVALID_PARAM);
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  ASSERT_EQ(aclrtQueryDeviceStatus(0, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  int32_t least = 0;
  int32_t greatest = -1;
  ASSERT_EQ(aclrtDeviceGetStreamPriorityRange(&least, &greatest), ACL_SUCCESS);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
}

TEST(Device, HasPeers) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  int32_t can = 0;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(nullptr, 0, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(8, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  int32_t status = -1;
  ASSERT_EQ(aclrtDevicePeerAccessStatus(0, 1, &status), ACL_SUCCESS);
  EXPECT_EQ(status, 1);
  ASSERT_EQ(aclrtDevicePeerAccessStatus(1, 0, &status), ACL_SUCCESS);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_RT_PARAM_INVALID);
  uint64_t link = 0;
  ASSERT_EQ(aclrtGetDevicesTopo(0, 7, &link), ACL_SUCCESS);
  EXPECT_EQ(link, ACL_RT_DEVS_TOPOLOGY_HCCS);
  EXPECT_EQ(aclrtGetDevicesTopo(0, 8, &link), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(Device, KeepsItsSaturationMode) {
  ASSERT_EQ(aclrtSetDevice(4), ACL_SUCCESS);
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  ASSERT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(4), ACL_SUCCESS);
}

TEST(Context, IsSharedByThreadsAndReplacedBySetDevice) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext primary = nullptr;
  aclrtContext made = nullptr;
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&made, 5), ACL_SUCCESS);
  int32_t device = -1;
  ASSERT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 5);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::thread([&] {
    ASSERT_EQ(aclrtSetCurrentContext(made), ACL_SUCCESS);
    std::function<int32_t()> task = [] { return ACLHOST_DONE; };
    EXPECT_EQ(launch(stream, task), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }).join();
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, primary);
  ASSERT_EQ(aclrtSetCurrentContext(made), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(primary), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(made), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(Context, KeepsParametersApartFromTheProcess) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  int64_t value = 0;
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value),
            ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtSetSysParamOpt(enum_value<aclSysParamOpt>(9), 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

// Prints what a process with this environment sees.
int print_devices(const std::vector<std::string>&) {
  uint32_t count = 0;
  const aclError error = aclrtGetDeviceCount(&count);
  std::string line = std::to_string(error) + " " + std::to_string(count);
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    int32_t physical = -1;
    int32_t back = -1;
    demand(aclrtGetPhyDevIdByUserDevId(i, &physical) == ACL_SUCCESS, "physical id");
    demand(aclrtGetUserDevIdByPhyDevId(physical, &back) == ACL_SUCCESS && back == i, "user id");
    line += " " + std::to_string(physical);
  }
  std::puts(line.c_str());
  return 0;
}
[[maybe_unused]] const int kPrint = register_child("print_devices", print_devices);

std::string devices_with(const Child::Environment& environment) {
  Child child("print_devices", {}, environment);
  const std::string line = child.read_line();
  EXPECT_EQ(child.wait(), 0);
  return line;
}

TEST(Environment, SaysHowManyDevicesThereAreAndWhichAreVisible) {
  const std::string visible = "ASCEND_RT_VISIBLE_DEVICES";
  EXPECT_EQ(devices_with({{"WEFT_DEVICES", "2"}}), "0 2 0 1");
  EXPECT_EQ(devices_with({{visible, "1,3,6"}}), "0 3 1 3 6");
  EXPECT_EQ(devices_with({{visible, ""}}), "0 8 0 1 2 3 4 5 6 7");
  for (const char* bad : {"1,1", "3,2", "1,,2", "x", "1,", "-1", "8", "0 1"}) {
    EXPECT_EQ(devices_with({{visible, bad}}), "207004 0") << bad;
  }
  for (const char* bad : {"0", "-3", "many", "2000"}) {
    EXPECT_EQ(devices_with({{"WEFT_DEVICES", bad}}), "207004 0") << bad;
  }
}

// Sets a device; prints the code and the text.
int print_set_device(const std::vector<std::string>&) {
  const aclError error = aclrtSetDevice(0);
  std::puts((std::to_string(error) + " " + error_text() + " " + aclrtGetSocName()).c_str());
  return 0;
}
[[maybe_unused]] const int kPrintSet = register_child("print_set_device", print_set_device);

TEST(Environment, SaysHowMuchMemoryADeviceHas) {
  for (const char* bad : {"x", "1X", "0", "-1", "1MB", "99999999999T", "100"}) {
    Child child("print_set_device", {}, {{"WEFT_DEVICE_MEMORY", bad}});
    const std::string line = child.read_line();
    EXPECT_EQ(line.substr(0, 7), "507033 ") << bad;
    EXPECT_NE(line.find("WEFT_DEVICE_MEMORY"), std::string::npos) << line;
  }
  for (const char* good : {"4096", "64K", "16M", "1G"}) {
    Child child("print_set_device", {}, {{"WEFT_DEVICE_MEMORY", good}, {"WEFT_SOC_NAME", "Other"}});
    EXPECT_EQ(child.read_line(), "0  Other") << good;
  }
}

}  // namespace
}  // namespace weft::test
