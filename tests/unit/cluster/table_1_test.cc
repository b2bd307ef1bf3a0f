// SPDX-License-Identifier: Apache-2.0
// Versions 1.0, 1.1 and 1.2.
#include "support.hpp"

namespace weft::cluster {
namespace {

// Ranks are not in the order of the file, and servers not in that of their ids.
const std::string kTwoServers = R"({
  "status": "completed", "version": "1.0", "server_count": "2", "more": [],
  "server_list": [
    {"server_id": "hostB", "device": [
      {"device_id": "3", "device_ip": "10.1.0.13", "rank_id": "2", "host_port": "6003"},
      {"device_id": "1", "device_ip": "10.1.0.11,10.1.0.12", "rank_id": "0", "device_port": "1"}]},
    {"server_id": "hostA", "host_ip": "10.1.1.1", "device": [
      {"device_id": "0", "rank_id": "1", "backup_device_ip": "10.1.0.20", "host_port": "6003"},
      {"device_id": "0", "rank_id": "3", "device_port": "65535", "backup_device_port": "7"}]}]})";

TEST(RankTable1, TellsWhereTheRanksAre) {
  const RankTable table = table_of(kTwoServers);
  EXPECT_EQ(table.servers, std::vector<std::string>({"hostB", "hostA"}));
  EXPECT_EQ(places(table), "0/1 1/0 0/3 1/0");
  EXPECT_EQ(table.root_ip, "");
  EXPECT_EQ(table.root_port, 0);
}

TEST(RankTable1, TellsWhereRankZeroIsMet) {
  const std::string named = edited(edited(kTwoServers, "hostB", "10.9.0.1"), "\"rank_id\": \"0\"",
                                   "\"rank_id\": \"0\", \"host_port\": \"5\"");
  const RankTable by_id = table_of(named);
  EXPECT_EQ(by_id.root_ip, "10.9.0.1");
  EXPECT_EQ(by_id.root_port, 5);
  const std::string addressed =
      edited(named, "\"device\"", "\"host_ip\": \"10.9.0.2\", \"device\"");
  EXPECT_EQ(table_of(addressed).root_ip, "10.9.0.2");
}

TEST(RankTable1, OfOneServerNeedsNoAddresses) {
  const RankTable table = table_of(
      R"({"version": "1.0", "status": "completed", "server_list": [{"server_id": "10.0.0.1",
          "device": [{"rank_id": "0", "device_id": "7"}]}]})");
  EXPECT_EQ(table.servers, std::vector<std::string>({"10.0.0.1"}));
  EXPECT_EQ(places(table), "0/7");
  EXPECT_EQ(table.root_ip, "");  // all ranks are on this host, whatever it calls itself
}

TEST(RankTable1, HasADigestOfWhatItSays) {
  const RankTable table = table_of(kTwoServers);
  const auto digest = [](const std::string& text) { return table_of(text).digest; };
  EXPECT_EQ(table.digest, digest(edited(kTwoServers, "\"status\": \"completed\", ", "\n\t")
                                     .insert(1, "\"status\":\"completed\",")));
  EXPECT_NE(table.digest, digest(edited(kTwoServers, "6003", "6004")));
  EXPECT_NE(table.digest, digest(edited(kTwoServers, "hostA", "hostC")));
  EXPECT_NE(table.digest, Digest{});
}

const Mistake kTop[] = {
    {"NoObject", kTwoServers.c_str(), "[1, 2]", kPara, "the text is an array of 2: allowed is"},
    {"NoStatus", "\"status\"", "\"state\"", kAbsent, "status is missing, it is required"},
    {"StatusNumber", "\"completed\"", "1", kPara, "status is 1: allowed is a string"},
    {"Initializing", "completed", "initializing", HCCL_E_TIMEOUT,
     "status is \"initializing\": it did not become \"completed\""},
    {"VersionNumber", "\"1.0\"", "1.0", kPara, "version is 1.0: allowed is a string"},
    {"VersionUnknown", "\"1.0\"", "\"1.3\"", HCCL_E_NOT_SUPPORT,
     "version is \"1.3\": allowed are 1.0, 1.1, 1.2 and 2.0"},
    {"VersionEmpty", "\"1.0\"", "\"\"", HCCL_E_NOT_SUPPORT, "version is \"\": allowed are"},
    {"ServerCount", "\"2\"", "\"3\"", kPara, "server_count is \"3\": server_list has 2 servers"},
    {"ServerCountNumber", "\"2\"", "2", kPara, "server_count is 2: allowed is a decimal number"},
    {"ServerCountText", "\"2\"", "\"two\"", kPara, "server_count is \"two\": allowed is a decimal"},
    {"ServerCountSign", "\"2\"", "\"+2\"", kPara, "server_count is \"+2\": allowed is a decimal"},
    {"NoServerList", "server_list", "servers", kAbsent, "server_list is missing"},
    {"ServerListObject", "[\n", "{}, \"x\": [", kPara,
     "server_list is an object: allowed is an array"},
};
TEST(RankTable1, NamesMistakesOfItsTop) { expect_refused(kTwoServers, kTop); }

const Mistake kServers[] = {
    {"ServerText", "[\n", "[\"x\",", kPara, "server_count is \"2\": server_list has 3 servers"},
    {"NoServerId", "\"server_id\": \"hostA\"", "\"id\": 0", kAbsent,
     "server_list[1].server_id is missing"},
    {"ServerIdNumber", "\"hostA\"", "7", kPara, "server_list[1].server_id is 7: allowed is a str"},
    {"ServerIdEmpty", "hostA", "", kPara,
     "server_list[1].server_id is \"\": allowed are 1 to 64 characters, it has 0"},
    {"ServerIdLong", "hostA", "0123456789012345678901234567890123456789012345678901234567890123x",
     kPara, "server_list[1].server_id is \"01234"},
    {"ServerIdTwice", "hostA", "hostB", kPara,
     "server_list[1].server_id is \"hostB\": server_list[0].server_id has it too"},
    {"HostIp", "10.1.1.1", "10.1.1", kPara,
     "server_list[1].host_ip is \"10.1.1\": allowed is an IPv4 or IPv6 address"},
    {"HostIpNumber", "\"10.1.1.1\"", "10", kPara, "server_list[1].host_ip is 10: allowed is a str"},
    {"NoDevices", "\"device\"", "\"devices\"", kAbsent, "server_list[0].device is missing"},
    {"DevicesText", "\"device\": [", "\"device\": \"\", \"x\": [", kPara,
     "server_list[0].device is \"\": allowed is an array"},
    {"DevicesEmpty", "\"device\": [", "\"device\": [], \"x\": [", kPara,
     "server_list[0].device is an array of 0: a server must have a device"},
    {"FamilyOfHost", "10.1.1.1", "::1", kPara,
     "server_list[1].host_ip is \"::1\": server_list[0].device[0].device_ip is IPv4"},
};
TEST(RankTable1, NamesMistakesOfServers) { expect_refused(kTwoServers, kServers); }

const Mistake kDevices[] = {
    {"NoDeviceId", "\"device_id\": \"1\"", "\"id\": \"1\"", kAbsent,
     "server_list[0].device[1].device_id is missing"},
    {"DeviceIdNumber", "\"1\"", "1", kPara, "server_list[0].device[1].device_id is 1: allowed is"},
    {"DeviceIdNegative", "\"1\"", "\"-1\"", kPara, "server_list[0].device[1].device_id is \"-1\""},
    {"DeviceIdLarge", "\"1\"", "\"1024\"", kPara,
     "server_list[0].device[1].device_id is \"1024\": allowed is a decimal number from 0 to 1023"},
    {"DeviceTwice", "\"device_port\": \"65535\"", "\"device_port\": \"16666\"", kPara,
     "server_list[1].device[1].device_id is \"0\": server_list[1].device[0].device_id has it too, "
     "and the device_port 16666"},
    {"NoRankId", "\"rank_id\": \"2\"", "\"rank\": \"2\"", kAbsent,
     "server_list[0].device[0].rank_id is missing"},
    {"RankIdNumber", "\"rank_id\": \"2\"", "\"rank_id\": 2", kPara,
     "server_list[0].device[0].rank_id is 2: allowed is a decimal number from 0 to 3 as a string"},
    {"RankIdLarge", "\"rank_id\": \"2\"", "\"rank_id\": \"4\"", kPara,
     "server_list[0].device[0].rank_id is \"4\": allowed is a decimal number from 0 to 3"},
    {"RankIdHuge", "\"rank_id\": \"2\"", "\"rank_id\": \"4294967298\"", kPara,
     "server_list[0].device[0].rank_id is \"4294967298\""},
    {"RankIdTwice", "\"rank_id\": \"2\"", "\"rank_id\": \"0\"", kPara,
     "server_list[0].device[1].rank_id is \"0\": server_list[0].device[0].rank_id has it too"},
    {"NoDeviceIp", "\"device_ip\": \"10.1.0.13\", ", "", kAbsent,
     "server_list[0].device[0].device_ip is missing"},
    {"DeviceIp", "10.1.0.13", "host", kPara, "server_list[0].device[0].device_ip is \"host\""},
    {"DeviceIpList", ",10.1.0.12", ",", kPara,
     "server_list[0].device[1].device_ip is \"10.1.0.11,"},
    {"DeviceIpTwice", "10.1.0.13", "10.1.0.12", kPara,
     "server_list[0].device[1].device_ip is \"10.1.0.11,10.1.0.12\": "
     "server_list[0].device[0].device_ip has it too"},
    {"DeviceIpFamily", "10.1.0.13", "fe80::1", kPara, "server_list[0].device[1].device_ip is"},
    {"DevicePort", "\"65535\"", "\"65536\"", kPara,
     "server_list[1].device[1].device_port is \"65536\": allowed is a decimal number from 1 to"},
    {"DevicePortZero", "\"65535\"", "\"0\"", kPara,
     "server_list[1].device[1].device_port is \"0\""},
    {"HostPort", "\"6003\"", "\"0\"", kPara, "server_list[0].device[0].host_port is \"0\""},
    {"HostPortTwice", "\"65535\"", "\"65535\", \"host_port\": \"6003\"", kPara,
     "server_list[1].device[1].host_port is \"6003\": server_list[1].device[0].host_port has it"},
    {"BackupIp", "10.1.0.20", "", kPara, "server_list[1].device[0].backup_device_ip is \"\""},
    {"BackupPort", "\"7\"", "\"x\"", kPara, "server_list[1].device[1].backup_device_port is \"x\""},
};
TEST(RankTable1, NamesMistakesOfDevices) { expect_refused(kTwoServers, kDevices); }

TEST(RankTable1, KnowsAnAddressHoweverItIsWritten) {
  const std::string table = R"({"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "a", "device": [
      {"device_id": "0", "rank_id": "0", "device_ip": "fd00::1"}]},
    {"server_id": "b", "device": [
      {"device_id": "0", "rank_id": "1", "device_ip": "FD00::2"}]}]})";
  EXPECT_EQ(places(table_of(table)), "0/0 1/0");
  expect_refused(edited(table, "FD00::2", "FD00:0:0:0:0:0:0:1"), kPara,
                 "server_list[1].device[0].device_ip is \"FD00:0:0:0:0:0:0:1\": "
                 "server_list[0].device[0].device_ip has it too");
}

// Device 0 of two servers of one superpod, and of a third in another.
const std::string kPods = R"({"status": "completed", "version": "1.2", "server_list": [
    {"server_id": "a", "host_ip": "::1", "device": [
      {"device_id": "0", "rank_id": "0", "super_device_id": "10"}]},
    {"server_id": "b", "host_ip": "::2", "device": [
      {"device_id": "0", "rank_id": "1", "super_device_id": "11"}]},
    {"server_id": "c", "host_ip": "::3", "device": [
      {"device_id": "0", "rank_id": "2", "super_device_id": "10"}]}],
  "super_pod_list": [
    {"super_pod_id": "p", "server_list": [{"server_id": "a"}, {"server_id": "b"}]},
    {"super_pod_id": "q", "server_list": [{"server_id": "c"}]}]})";

TEST(RankTable12, HasSuperpodsOrGoesWithout) {
  EXPECT_EQ(places(table_of(kPods)), "0/0 1/0 2/0");
  EXPECT_EQ(table_of(kPods).root_ip, "::1");
  (void)table_of(edited(kPods, "super_pod_list", "x"));
  // A device without an id in its superpod: the servers are plain ones, the other ids may be equal.
  const std::string plain = edited(kPods, ", \"super_device_id\": \"11\"", "");
  (void)table_of(edited(plain, "]},\n    {\"super_pod_id\": \"q\", \"server_list\": [", ", "));
  // 1.0 knows no superpods.
  (void)table_of(edited(edited(kPods, "\"p\"", "\"q\""), "1.2", "1.0"));
}

const Mistake kOfPods[] = {
    {"ListText", "[\n    {\"super_pod_id\"", "\"\", \"x\": [\n    {\"super_pod_id\"", kPara,
     "super_pod_list is \"\": allowed is an array"},
    {"NoId", "\"super_pod_id\": \"q\"", "\"id\": \"q\"", kAbsent,
     "super_pod_list[1].super_pod_id is missing"},
    {"IdNumber", "\"q\"", "1", kPara, "super_pod_list[1].super_pod_id is 1: allowed is a string"},
    {"IdTwice", "\"q\"", "\"p\"", kPara,
     "super_pod_list[1].super_pod_id is \"p\": super_pod_list[0].super_pod_id has it too"},
    {"NoServers", "\"server_list\": [{\"server_id\": \"c\"}]", "\"x\": []", kAbsent,
     "super_pod_list[1].server_list is missing"},
    {"NoServerId", "{\"server_id\": \"c\"}]", "{}]", kAbsent,
     "super_pod_list[1].server_list[0].server_id is missing"},
    {"UnknownServer", "{\"server_id\": \"c\"}]", "{\"server_id\": \"d\"}]", kPara,
     "super_pod_list[1].server_list[0].server_id is \"d\": server_list has no such server"},
    {"ServerTwice", "{\"server_id\": \"c\"}]", "{\"server_id\": \"b\"}]", kPara,
     "super_pod_list[1].server_list[0].server_id is \"b\": "
     "super_pod_list[0].server_list[1].server_id has it too"},
    {"ServerNowhere", ", {\"server_id\": \"b\"}", "", kPara,
     "server_list[1].server_id is \"b\": no superpod of super_pod_list has this server"},
    {"DeviceTwice", "\"11\"", "\"10\"", kPara,
     "server_list[1].device[0].super_device_id is \"10\": "
     "server_list[0].device[0].super_device_id has it too"},
    {"DeviceText", "\"11\"", "\"x\"", kPara, "server_list[1].device[0].super_device_id is \"x\""},
};
TEST(RankTable12, NamesMistakesOfPods) { expect_refused(kPods, kOfPods); }

TEST(RankTable12, LooksAtIdsInSuperpodsEvenOfPlainServers) {
  const std::string without_list = edited(kPods, "super_pod_list", "x");
  const std::string without_one = edited(kPods, ", \"super_device_id\": \"11\"", "");
  for (const std::string& plain : {without_list, without_one}) {
    expect_refused(edited(plain, "\"10\"", "\"x\""), kPara,
                   "server_list[0].device[0].super_device_id is \"x\": allowed is a decimal");
    expect_refused(edited(plain, "\"10\"", "10"), kPara,
                   "server_list[0].device[0].super_device_id is 10: allowed is a decimal");
  }
  // 1.0 knows no superpods.
  (void)table_of(edited(edited(kPods, "\"10\"", "10"), "1.2", "1.0"));
}

const std::string kHosts = R"({"status": "completed", "version": "1.1", "collective_id": "x",
  "node_list": [
    {"node_addr": "10.0.0.1", "ranks": [
      {"rank_id": "1", "device_id": "0", "port": "7001", "rank_ip": "10.0.0.5"},
      {"rank_id": "0", "device_id": "1", "port": "7000", "rank_ip": "10.0.0.6"}]},
    {"node_addr": "10.0.0.2", "ranks": [{"rank_id": "2", "device_id": "0"}]}]})";

TEST(RankTable11, TellsWhereTheRanksAre) {
  const RankTable table = table_of(kHosts);
  EXPECT_EQ(table.servers, std::vector<std::string>({"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(places(table), "0/1 0/0 1/0");
  EXPECT_EQ(table.root_ip, "10.0.0.6");
  EXPECT_EQ(table.root_port, 7000);
  const std::string plain = edited(kHosts, ", \"rank_ip\": \"10.0.0.6\"", "");
  EXPECT_EQ(table_of(plain).root_ip, "10.0.0.1");
}

TEST(RankTable11, RanksOnOneDeviceHaveAPortEach) {
  const std::string shared = edited(kHosts, "\"device_id\": \"1\"", "\"device_id\": \"0\"");
  EXPECT_EQ(places(table_of(shared)), "0/0 0/0 1/0");
  for (const std::string& bad :
       {edited(shared, "\"7001\"", "\"7000\""),
        edited(edited(shared, ", \"port\": \"7000\"", ""), ", \"port\": \"7001\"", "")}) {
    expect_refused(
        bad, kPara,
        "node_list[0].ranks[1].device_id is \"0\": node_list[0].ranks[0].device_id has it "
        "too, ranks of a node on one device need a port each");
  }
}

const Mistake kOfHosts[] = {
    {"NoStatus", "\"status\"", "\"x\"", kAbsent, "status is missing"},
    {"NoNodes", "node_list", "nodes", kAbsent, "node_list is missing"},
    {"NodesEmpty", "\"node_list\": [", "\"node_list\": [], \"x\": [", kPara,
     "node_list is an array of 0: there must be a node"},
    {"NoAddress", "\"node_addr\": \"10.0.0.2\"", "\"addr\": 0", kAbsent,
     "node_list[1].node_addr is missing"},
    {"AddressTwice", "10.0.0.2", "10.0.0.1", kPara, "node_list[1].node_addr is \"10.0.0.1\": "},
    {"NoRanks", "\"ranks\": [{", "\"x\": [{", kAbsent, "node_list[1].ranks is missing"},
    {"RanksEmpty", "\"ranks\": [{", "\"ranks\": [], \"x\": [{", kPara,
     "node_list[1].ranks is an array of 0: a node must have a rank"},
    {"RankTwice", "\"2\"", "\"0\"", kPara, "node_list[1].ranks[0].rank_id is \"0\": "},
    {"RankNumber", "\"rank_id\": \"2\"", "\"rank_id\": 2", kPara, "node_list[1].ranks[0].rank_id"},
    {"NoDevice", "\"2\", \"device_id\"", "\"2\", \"x\"", kAbsent,
     "node_list[1].ranks[0].device_id is missing"},
    {"Port", "\"7001\"", "\"70000\"", kPara, "node_list[0].ranks[0].port is \"70000\""},
    {"RankIp", "10.0.0.5", "there", kPara, "node_list[0].ranks[0].rank_ip is \"there\""},
    {"Family", "10.0.0.6", "::1", kPara, "node_list[0].ranks[1].rank_ip is \"::1\": "},
};
TEST(RankTable11, NamesMistakesOfHosts) { expect_refused(kHosts, kOfHosts); }

}  // namespace
}  // namespace weft::cluster
