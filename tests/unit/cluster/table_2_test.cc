// SPDX-License-Identifier: Apache-2.0
// Version 2.0. Every mistake is a parameter error.
#include "support.hpp"

namespace weft::cluster {
namespace {

// Rank 1 is on a spare device, which stands in for device 5 of the topology.
const std::string kRacks = R"({"version": "2.0", "detour": "true", "rank_count": 3, "rank_list": [
  {"rank_id": 2, "local_id": 0, "device_id": 0, "host_port": 7002, "device_port": 9, "level_list": [
    {"net_layer": 0, "net_instance_id": "rack1", "net_type": "TOPO_FILE_DESC", "net_attr": "",
     "rank_addr_list": [
       {"addr_type": "EID", "addr": "000102030405060708090a0b0c0d0e0f", "ports": ["0/1", "0/2"],
        "backup_addr": ["::5"]}]},
    {"net_layer": 3, "net_instance_id": "all", "net_type": "CLOS", "rank_addr_list": []}]},
  {"rank_id": 1, "local_id": 64, "replaced_local_id": 5, "device_id": 64, "level_list": [
    {"net_layer": 0, "net_instance_id": "rack0", "rank_addr_list": [
       {"addr_type": "IPV4", "addr": "10.3.0.2", "plane_id": "1", "ports": ["1/0"]}]}]},
  {"rank_id": 0, "local_id": 4, "device_id": 4, "host_port": 7000,
   "control_plane": {"addr_type": "IPV6", "addr": "::2", "listen_port": 7777}, "level_list": [
    {"net_layer": 0, "net_instance_id": "rack0", "rank_addr_list": []}]}]})";

TEST(RankTable2, TellsWhereTheRanksAre) {
  const RankTable table = table_of(kRacks);
  EXPECT_EQ(table.servers, std::vector<std::string>({"rack1", "rack0"}));
  EXPECT_EQ(places(table), "1/4 1/64 0/0");
  EXPECT_EQ(table.root_ip, "::2");
  EXPECT_EQ(table.root_port, 7777);
}

TEST(RankTable2, TellsWhereRankZeroIsMet) {
  const RankTable by_port = table_of(edited(kRacks, ", \"listen_port\": 7777", ""));
  EXPECT_EQ(by_port.root_ip, "::2");
  EXPECT_EQ(by_port.root_port, 7000);
  const RankTable unsaid = table_of(edited(kRacks, "control_plane", "x"));
  EXPECT_EQ(unsaid.root_ip, "");
  EXPECT_EQ(unsaid.root_port, 7000);
}

TEST(RankTable2, RanksOutsideOfLayerZeroAreOnServersOfTheirOwn) {
  const RankTable table = table_of(
      R"({"version": "2.0", "status": "completed", "rank_count": 2, "rank_list": [
        {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": []},
        {"rank_id": 1, "local_id": 0, "device_id": 0, "level_list": [
          {"net_layer": 1, "net_instance_id": "x", "rank_addr_list": []}]}]})");
  EXPECT_EQ(places(table), "0/0 1/0");
}

TEST(RankTable2, RanksOnOneDeviceHaveADevicePortEach) {
  const std::string table = R"({"version": "2.0", "rank_count": 2, "rank_list": [
    {"rank_id": 0, "local_id": 0, "device_id": 3, "device_port": 16667, "level_list": [
      {"net_layer": 0, "net_instance_id": "rack", "rank_addr_list": []}]},
    {"rank_id": 1, "local_id": 0, "device_id": 3, "level_list": [
      {"net_layer": 0, "net_instance_id": "rack", "rank_addr_list": []}]}]})";
  EXPECT_EQ(places(table_of(table)), "0/3 0/3");
  const std::string refusal =
      "rank_list[1].device_id is 3: rank_list[0].device_id has it too, and the device_port 16666";
  expect_refused(edited(table, "16667", "16666"), kPara, refusal);
  expect_refused(edited(table, ", \"device_port\": 16667", ""), kPara, refusal);
}

const Mistake kRanks[] = {
    {"Detour", "\"true\"", "\"yes\"", kPara, "detour is \"yes\": allowed are \"true\", \"false\""},
    {"NoCount", "rank_count", "count", kPara, "rank_count is missing, it is required"},
    {"Count", "\"rank_count\": 3", "\"rank_count\": 4", kPara,
     "rank_count is 4: rank_list has 3 ranks"},
    {"CountText", "\"rank_count\": 3", "\"rank_count\": \"3\"", kPara,
     "rank_count is \"3\": allowed is a whole number from 1 to 65536"},
    {"CountZero", "\"rank_count\": 3", "\"rank_count\": 0", kPara, "rank_count is 0: allowed is"},
    {"CountFraction", "\"rank_count\": 3", "\"rank_count\": 3.0", kPara, "rank_count is 3.0: "},
    {"NoRanks", "rank_list", "ranks", kPara, "rank_list is missing"},
    {"NoRankId", "\"rank_id\": 1", "\"id\": 1", kPara, "rank_list[1].rank_id is missing"},
    {"RankIdText", "\"rank_id\": 1", "\"rank_id\": \"1\"", kPara, "rank_list[1].rank_id is \"1\""},
    {"RankIdLarge", "\"rank_id\": 1", "\"rank_id\": 3", kPara,
     "rank_list[1].rank_id is 3: allowed is a whole number from 0 to 2"},
    {"RankIdNegative", "\"rank_id\": 1", "\"rank_id\": -1", kPara, "rank_list[1].rank_id is -1"},
    {"RankIdTwice", "\"rank_id\": 1", "\"rank_id\": 2", kPara,
     "rank_list[1].rank_id is 2: rank_list[0].rank_id has it too"},
    {"NoLocalId", "\"local_id\": 4", "\"x\": 4", kPara, "rank_list[2].local_id is missing"},
    {"LocalIdLarge", "\"local_id\": 4", "\"local_id\": 65", kPara,
     "rank_list[2].local_id is 65: allowed is a whole number from 0 to 64"},
    {"NoReplaced", "replaced_local_id", "x", kPara, "rank_list[1].replaced_local_id is missing"},
    {"ReplacedLarge", "\"replaced_local_id\": 5", "\"replaced_local_id\": 64", kPara,
     "rank_list[1].replaced_local_id is 64: allowed is a whole number from 0 to 63"},
    {"ReplacedListed", "\"replaced_local_id\": 5", "\"replaced_local_id\": 4", kPara,
     "rank_list[1].replaced_local_id is 4: rank_list[2].local_id is this device"},
    {"TwoSpares", "\"local_id\": 4", "\"local_id\": 64, \"replaced_local_id\": 6", kPara,
     "rank_list[2].local_id is 64: a server has one spare device at most"},
    {"NoDeviceId", "\"device_id\": 64", "\"x\": 64", kPara, "rank_list[1].device_id is missing"},
    {"DeviceIdLarge", "\"device_id\": 64", "\"device_id\": 65", kPara,
     "rank_list[1].device_id is 65: allowed is a whole number from 0 to 64"},
    {"DevicePort", "\"device_port\": 9", "\"device_port\": 0", kPara,
     "rank_list[0].device_port is 0: allowed is a whole number from 1 to 65535"},
    {"HostPort", "7002", "70000", kPara, "rank_list[0].host_port is 70000: allowed is"},
    {"NoControlAddress", "\"addr\": \"::2\", ", "", kPara,
     "rank_list[2].control_plane.addr is missing"},
    {"ControlAddress", "::2", "10.0.0.1", kPara,
     "rank_list[2].control_plane.addr is \"10.0.0.1\": allowed is an address of its addr_type"},
    {"ControlType", "IPV6", "TCP", kPara, "rank_list[2].control_plane.addr_type is \"TCP\""},
    {"ControlPort", "7777", "\"7\"", kPara, "rank_list[2].control_plane.listen_port is \"7\""},
    {"StatusNumber", "\"rank_count\": 3", "\"status\": 1", kPara, "status is 1: allowed is a str"},
};
TEST(RankTable2, NamesMistakesOfRanks) { expect_refused(kRacks, kRanks); }

const Mistake kLevels[] = {
    {"NoLevels", "level_list", "x", kPara, "rank_list[0].level_list is missing"},
    {"LevelsText", "\"level_list\": [", "\"level_list\": \"\", \"x\": [", kPara,
     "rank_list[0].level_list is \"\": allowed is an array"},
    {"NineLevels", "\"level_list\": [", "\"level_list\": [0, 1, 2, 3, 4, 5, 6,", kPara,
     "rank_list[0].level_list is an array of 9: allowed are 0 to 8 items"},
    {"NoLayer", "\"net_layer\": 3", "\"x\": 3", kPara,
     "rank_list[0].level_list[1].net_layer is missing"},
    {"LayerLarge", "\"net_layer\": 3", "\"net_layer\": 8", kPara,
     "rank_list[0].level_list[1].net_layer is 8: allowed is a whole number from 0 to 7"},
    {"LayerOrder", "\"net_layer\": 3", "\"net_layer\": 0", kPara,
     "rank_list[0].level_list[1].net_layer is 0: layers must ascend"},
    {"NoInstance", "net_instance_id", "x", kPara,
     "rank_list[0].level_list[0].net_instance_id is missing"},
    {"InstanceEmpty", "\"rack1\"", "\"\"", kPara,
     "rank_list[0].level_list[0].net_instance_id is \"\": allowed are 1 to 1024 characters"},
    {"Type", "\"CLOS\"", "\"RING\"", kPara,
     "rank_list[0].level_list[1].net_type is \"RING\": allowed are \"TOPO_FILE_DESC\", \"CLOS\""},
    {"Attribute", "\"net_attr\": \"\"", "\"net_attr\": 0", kPara,
     "rank_list[0].level_list[0].net_attr is 0: allowed is a string"},
    {"NoAddresses", "\"rank_addr_list\": []}]},", "\"x\": []}]},", kPara,
     "rank_list[0].level_list[1].rank_addr_list is missing"},
    {"ManyAddresses", "\"rank_addr_list\": []}]},",
     "\"rank_addr_list\": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]},", kPara,
     "rank_list[0].level_list[1].rank_addr_list is an array of 25: allowed are 0 to 24 items"},
};
TEST(RankTable2, NamesMistakesOfLevels) { expect_refused(kRacks, kLevels); }

#define WEFT_ADDRESS "rank_list[0].level_list[0].rank_addr_list[0]."
const Mistake kAddresses[] = {
    {"NoAddressType", "\"addr_type\": \"EID\"", "\"x\": 0", kPara,
     WEFT_ADDRESS "addr_type is missing"},
    {"AddressType", "\"EID\"", "\"MAC\"", kPara,
     WEFT_ADDRESS "addr_type is \"MAC\": allowed are \"EID\", \"IPV4\", \"IPV6\""},
    {"NoAddress", "\"addr\": \"000102030405060708090a0b0c0d0e0f\", ", "", kPara,
     WEFT_ADDRESS "addr is missing"},
    {"AddressEmpty", "000102030405060708090a0b0c0d0e0f", "", kPara,
     WEFT_ADDRESS "addr is \"\": allowed are 1 to 256 characters"},
    {"Eid", "000102030405060708090a0b0c0d0e0f", "0x1", kPara,
     WEFT_ADDRESS "addr is \"0x1\": allowed is an EID"},
    {"BackupText", "[\"::5\"]", "\"::5\"", kPara,
     WEFT_ADDRESS "backup_addr is \"::5\": allowed is"},
    {"BackupType", "[\"::5\"]", "[\"1.2.3.4\"]", kPara,
     WEFT_ADDRESS "backup_addr[0] is \"1.2.3.4\": allowed is an EID"},
    {"ManyBackups", "[\"::5\"]", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]", kPara,
     WEFT_ADDRESS "backup_addr is an array of 17: allowed are 0 to 16 items"},
    {"NoPorts", "\"ports\": [\"0/1\", \"0/2\"],", "", kPara, WEFT_ADDRESS "ports is missing"},
    {"PortsEmpty", "[\"0/1\", \"0/2\"]", "[]", kPara,
     WEFT_ADDRESS "ports is an array of 0: allowed are 1 to 16 items"},
    {"PortTwice", "\"0/2\"", "\"0/1\"", kPara, WEFT_ADDRESS "ports[1] is \"0/1\": "},
    {"PortNumber", "\"0/2\"", "2", kPara, WEFT_ADDRESS "ports[1] is 2: allowed is a string"},
    {"PortForm", "\"0/2\"", "\"2\"", kPara, WEFT_ADDRESS "ports[1] is \"2\": allowed is \"die/p"},
    {"PortLong", "\"0/2\"", "\"0/2222222222222222222222222222222\"", kPara,
     WEFT_ADDRESS "ports[1] is \"0/2222222222222222222222222222222\": allowed are 1 to 32"},
    {"Ipv4", "\"10.3.0.2\"", "\"::1\"", kPara,
     "rank_list[1].level_list[0].rank_addr_list[0].addr is \"::1\": allowed is an address of"},
    {"Plane", "\"plane_id\": \"1\"", "\"plane_id\": 1", kPara,
     "rank_list[1].level_list[0].rank_addr_list[0].plane_id is 1: allowed is a string"},
};
TEST(RankTable2, NamesMistakesOfAddresses) { expect_refused(kRacks, kAddresses); }

}  // namespace
}  // namespace weft::cluster
