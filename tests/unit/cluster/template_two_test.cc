// SPDX-License-Identifier: Apache-2.0
// The form without a version.
#include "support.hpp"

namespace weft::cluster {
namespace {

const std::string kGroups = R"({"status": "completed", "group_count": "2", "group_list": [
  {"group_name": "one", "instance_count": "2", "device_count": "3", "instance_list": [
    {"pod_name": "p0", "server_id": "10.0.0.9", "devices": [
      {"device_id": "7", "device_ip": "10.2.0.3"}, {"device_id": "2", "device_ip": "10.2.0.4"}]},
    {"pod_name": "p1", "server_id": "10.0.0.10", "devices": [
      {"device_id": "0", "device_ip": "10.2.0.1"}]}]},
  {"instance_count": "1", "device_count": "1", "instance_list": [
    {"pod_name": "p2", "server_id": "10.0.0.9", "devices": [
      {"device_id": "5", "device_ip": "10.2.0.2"}]}]}]})";

TEST(TemplateTwo, CountsRanksByServerAndDevice) {
  const RankTable table = table_of(kGroups);
  EXPECT_EQ(table.servers, std::vector<std::string>({"10.0.0.10", "10.0.0.9"}));
  EXPECT_EQ(places(table), "0/0 1/2 1/5 1/7");
  EXPECT_EQ(table.root_ip, "10.0.0.10");
  EXPECT_EQ(table.root_port, 0);
}

TEST(TemplateTwo, OfOneServerNeedsNoAddresses) {
  const RankTable table = table_of(
      R"({"status": "completed", "group_count": "1", "group_list": [{"instance_count": "1",
          "device_count": "1", "instance_list": [{"pod_name": "p", "server_id": "10.0.0.1",
          "devices": [{"device_id": "4"}]}]}]})");
  EXPECT_EQ(places(table), "0/4");
  EXPECT_EQ(table.root_ip, "");
}

const Mistake kMistakes[] = {
    {"NoStatus", "\"status\"", "\"x\"", kAbsent, "status is missing"},
    {"NoGroupCount", "group_count", "groups", kAbsent, "group_count is missing"},
    {"GroupCountZero", "\"group_count\": \"2\"", "\"group_count\": \"0\"", kPara,
     "group_count is \"0\": there must be a group"},
    {"GroupCount", "\"group_count\": \"2\"", "\"group_count\": \"1\"", kPara,
     "group_count is \"1\": there are 2 groups in group_list"},
    {"GroupCountNumber", "\"group_count\": \"2\"", "\"group_count\": 2", kPara,
     "group_count is 2: allowed is a decimal number"},
    {"NoGroups", "group_list", "groups", kAbsent, "group_list is missing"},
    {"GroupsText", "\"group_list\": [", "\"group_list\": \"\", \"x\": [", kPara,
     "group_list is \"\": allowed is an array"},
    {"GroupNameTwice", "{\"instance_count\": \"1\"",
     "{\"group_name\": \"one\", \"instance_count\": \"1\"", kPara,
     "group_list[1].group_name is \"one\": group_list[0].group_name has it too"},
    {"GroupNameLong", "\"one\"",
     "\"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
     "8901234567890123456789012345678901234567\"",
     kPara, "group_list[0].group_name is \"0123456789"},
    {"NoInstanceCount", "instance_count", "x", kAbsent, "group_list[0].instance_count is missing"},
    {"InstanceCount", "\"instance_count\": \"2\"", "\"instance_count\": \"3\"", kPara,
     "group_list[0].instance_count is \"3\": there are 2 pods in instance_list"},
    {"NoDeviceCount", "device_count", "x", kAbsent, "group_list[0].device_count is missing"},
    {"DeviceCount", "\"device_count\": \"3\"", "\"device_count\": \"2\"", kPara,
     "group_list[0].device_count is \"2\": there are 3 devices"},
    {"NoInstances", "instance_list", "x", kAbsent, "group_list[0].instance_list is missing"},
    {"NoPodName", "\"pod_name\": \"p1\"", "\"x\": 0", kAbsent,
     "group_list[0].instance_list[1].pod_name is missing"},
    {"PodNameTwice", "\"p2\"", "\"p0\"", kPara,
     "group_list[1].instance_list[0].pod_name is \"p0\": "
     "group_list[0].instance_list[0].pod_name has it too"},
    {"NoServerId", "server_id", "x", kAbsent, "group_list[0].instance_list[0].server_id is miss"},
    {"ServerIdLong", "10.0.0.9",
     "0123456789012345678901234567890123456789012345678901234567890123x", kPara,
     "group_list[0].instance_list[0].server_id is \"012"},
    {"NoDevices", "\"devices\"", "\"x\"", kAbsent,
     "group_list[0].instance_list[0].devices is missing"},
    {"NoDeviceId", "device_id", "x", kAbsent,
     "group_list[0].instance_list[0].devices[0].device_id is missing"},
    {"DeviceIdLarge", "\"7\"", "\"8\"", kPara,
     "group_list[0].instance_list[0].devices[0].device_id is \"8\": allowed is a decimal number "
     "from 0 to 7"},
    {"DeviceIdNumber", "\"7\"", "7", kPara,
     "group_list[0].instance_list[0].devices[0].device_id is 7"},
    {"DeviceTwice", "\"5\"", "\"2\"", kPara,
     "group_list[1].instance_list[0].devices[0].device_id is \"2\": "
     "group_list[0].instance_list[0].devices[1].device_id has it too, on the same server"},
    {"NoDeviceIp", ", \"device_ip\": \"10.2.0.4\"", "", kAbsent,
     "group_list[0].instance_list[0].devices[1].device_ip is missing"},
    {"DeviceIp", "10.2.0.4", "x", kPara,
     "group_list[0].instance_list[0].devices[1].device_ip is \"x\": allowed is an IPv4"},
    {"DeviceIpTwice", "10.2.0.4", "10.2.0.1", kPara,
     "group_list[0].instance_list[0].devices[1].device_ip is \"10.2.0.1\": "
     "group_list[0].instance_list[1].devices[0].device_ip has it too"},
    {"Family", "10.2.0.4", "::1", kPara,
     "group_list[0].instance_list[0].devices[1].device_ip is \"::1\": "},
};
TEST(TemplateTwo, NamesMistakes) { expect_refused(kGroups, kMistakes); }

TEST(TemplateTwo, KnowsAnAddressHoweverItIsWritten) {
  const std::string table = R"({"status": "completed", "group_count": "1", "group_list": [
    {"instance_count": "1", "device_count": "2", "instance_list": [
      {"pod_name": "p", "server_id": "h", "devices": [
        {"device_id": "0", "device_ip": "fd00::1"},
        {"device_id": "1", "device_ip": "fd00::2"}]}]}]})";
  EXPECT_EQ(places(table_of(table)), "0/0 0/1");
  expect_refused(edited(table, "fd00::2", "fd00:0::0001"), kPara,
                 "group_list[0].instance_list[0].devices[1].device_ip is \"fd00:0::0001\": ");
}

}  // namespace
}  // namespace weft::cluster
