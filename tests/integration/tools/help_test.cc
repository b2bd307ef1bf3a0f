// SPDX-License-Identifier: Apache-2.0
// The command line as a whole.
#include <gtest/gtest.h>

#include "support.hpp"

namespace weft::test {
namespace {

TEST(Help, ListsEverySubcommand) {
  const Outcome outcome = weft({"help"});
  EXPECT_EQ(outcome.code, 0);
  for (const char* name :
       {"run", "bench", "ab", "tune", "explain", "policy", "plugins", "check", "env"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

TEST(Help, EverySubcommandExplainsItself) {
  for (const char* name :
       {"run", "bench", "ab", "tune", "explain", "policy", "plugins", "check", "env"}) {
    const Outcome outcome = weft({name, "--help"});
    EXPECT_EQ(outcome.code, 0) << name;
    EXPECT_NE(outcome.out.find(std::string("Usage: weft ") + name), std::string::npos);
    EXPECT_EQ(weft({"help", name}).out, outcome.out);
  }
}

TEST(Help, BenchListsEveryFunction) {
  const Outcome outcome = weft({"bench", "--help"});
  for (const char* name : {"HcclAllReduce", "HcclReduce", "HcclBroadcast", "HcclScatter",
                           "HcclAllGather", "HcclAllGatherV", "HcclReduceScatter",
                           "HcclReduceScatterV", "HcclAlltoAll", "HcclAlltoAllV", "HcclAlltoAllVC",
                           "HcclSend", "HcclRecv", "HcclBatchSendRecv", "HcclBarrier"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

TEST(Help, UnknownSubcommandSuggestsTheNearest) {
  const Outcome outcome = weft({"bnech"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("did you mean 'bench'?"), std::string::npos) << outcome.err;
}

TEST(Help, NoSubcommandIsAUsageError) { EXPECT_EQ(weft({}).code, 2); }

struct WrongLine {
  const char* name;
  Words words;
  const char* text;  // in the message
};

class WrongCommandLine : public testing::TestWithParam<WrongLine> {};

TEST_P(WrongCommandLine, IsAUsageErrorThatSaysWhat) {
  const Outcome outcome = weft(GetParam().words);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(GetParam().text), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCommandLine,
    testing::Values(
        WrongLine{"RunWithoutRanks", {"run", "true"}, "-n is missing"},
        WrongLine{"RunWithoutProgram", {"run", "-n", "2", "--"}, "which program?"},
        WrongLine{"RunOfNoRanks", {"run", "-n", "0", "true"}, "'0'"},
        WrongLine{"RunUnknownOption", {"run", "--rnaks", "2", "true"}, "did you mean '--ranks'?"},
        WrongLine{"RunZeroTimeout", {"run", "-n", "1", "--timeout", "0", "true"}, "seconds"},
        WrongLine{"BenchWithoutOperation", {"bench", "-n", "2"}, "which operation?"},
        WrongLine{"BenchUnknownOperation", {"bench", "allreduce", "-n", "2"}, "'all_reduce'"},
        WrongLine{"BenchWithoutRanks", {"bench", "barrier"}, "-n is missing"},
        WrongLine{
            "BenchUnknownType", {"bench", "all_reduce", "-n", "2", "-d", "fp23"}, "-d, --type: "},
        WrongLine{"BenchUnknownReduction", {"bench", "all_reduce", "-n", "2", "-o", "mix"}, "max"},
        WrongLine{"BenchBadSize", {"bench", "all_reduce", "-n", "2", "-b", "8X"}, "'8X'"},
        WrongLine{
            "BenchEmptyRange", {"bench", "all_reduce", "-n", "2", "-b", "8K", "-e", "8"}, "larger"},
        WrongLine{
            "BenchFactorOne", {"bench", "all_reduce", "-n", "2", "-f", "1"}, "-f, --factor: "},
        WrongLine{"BenchNoSuchRoot", {"bench", "broadcast", "-n", "2", "--root", "2"}, "rank 2"},
        WrongLine{
            "BenchRootOfAllReduce", {"bench", "all_reduce", "-n", "2", "--root", "1"}, "no --root"},
        WrongLine{
            "BenchRootOfGatherV", {"bench", "all_gather_v", "-n", "2", "--root", "1"}, "no --root"},
        WrongLine{"BenchReductionOfScatter", {"bench", "scatter", "-n", "2", "-o", "max"}, "no -o"},
        WrongLine{
            "BenchReductionOfGather", {"bench", "all_gather", "-n", "2", "-o", "max"}, "no -o"},
        WrongLine{"BenchUnreducibleType",
                  {"bench", "all_reduce", "-n", "2", "-d", "int128"},
                  "cannot be reduced"},
        WrongLine{
            "BenchInPlaceAllToAll", {"bench", "all_to_all", "-n", "2", "--in-place"}, "in place"},
        WrongLine{
            "BenchInPlaceGatherV", {"bench", "all_gather_v", "-n", "2", "--in-place"}, "in place"},
        WrongLine{"BenchInPlaceReduceScatterV",
                  {"bench", "reduce_scatter_v", "-n", "2", "--in-place"},
                  "in place"},
        WrongLine{"BenchInPlaceScatter", {"bench", "scatter", "-n", "2", "--in-place"}, "in place"},
        WrongLine{"BenchInPlaceSend", {"bench", "send_recv", "-n", "2", "--in-place"}, "in place"},
        WrongLine{
            "BenchInPlaceBatch", {"bench", "batch_send_recv", "-n", "2", "--in-place"}, "in place"},
        WrongLine{"BenchUnreducibleTypeOfV",
                  {"bench", "reduce_scatter_v", "-n", "2", "-d", "hif8"},
                  "cannot be reduced"},
        WrongLine{"BenchSendToItself", {"bench", "send_recv", "-n", "1"}, "two ranks or more"},
        WrongLine{"BenchSizeOfBarrier", {"bench", "barrier", "-n", "2", "-b", "8"}, "no --begin"},
        WrongLine{"BenchAllAsJson", {"bench", "all", "-n", "2", "--json"}, "no --json"},
        WrongLine{"BenchAllOfAnUnreducibleType",
                  {"bench", "all", "-n", "2", "-d", "int128"},
                  "cannot be reduced"},
        WrongLine{
            "BenchUnknownMemory", {"bench", "all_reduce", "-n", "2", "--memory", "tape"}, "'tape'"},
        WrongLine{"BenchNoTimeForASize",
                  {"bench", "barrier", "-n", "2", "--min-time", "2", "--timeout", "2"},
                  "less than --timeout"},
        WrongLine{"BenchInitOfAnOperation",
                  {"bench", "--init", "barrier", "-n", "2"},
                  "measures no operation"},
        WrongLine{"BenchInitWithoutRanks", {"bench", "--init"}, "-n is missing"},
        WrongLine{"BenchInitOfASize", {"bench", "--init", "-n", "2", "-b", "8"}, "no --begin"},
        WrongLine{"BenchInitLimit", {"bench", "--init", "-n", "2", "--limit"}, "no --limit"},
        WrongLine{
            "BenchInitTooMany", {"bench", "--init", "-n", "2", "--iters", "1001"}, "at most 1000"},
        WrongLine{"BenchTwoOperations", {"bench", "barrier", "barrier", "-n", "2"}, "too many"},
        WrongLine{"NewWithoutKind", {"new"}, "what?"},
        WrongLine{"NewUnknownKind", {"new", "algoritm", "x"}, "did you mean 'algorithm'?"},
        WrongLine{"NewWithoutName", {"new", "algorithm"}, "what shall"},
        WrongLine{"NewBadName", {"new", "algorithm", "My-1"}, "'My-1' is no name"},
        WrongLine{"NewTwoNames", {"new", "algorithm", "a", "b"}, "'b' is one word too many"},
        WrongLine{"ExplainOfNothing", {"explain", "--op", "allreduce", "-n", "2"}, "'all_reduce'"},
        WrongLine{"ExplainWithoutRanks", {"explain", "--op", "barrier"}, "-n is missing"},
        WrongLine{"ExplainTooManyRanks", {"explain", "--op", "barrier", "-n", "1025"}, "1024"},
        WrongLine{"ExplainNoSuchRoot",
                  {"explain", "--op", "broadcast", "-n", "2", "--root", "2"},
                  "no rank 2"},
        WrongLine{"ExplainRootOfAllReduce",
                  {"explain", "--op", "all_reduce", "-n", "2", "--root", "1"},
                  "no --root"},
        WrongLine{"ExplainReductionOfGather",
                  {"explain", "--op", "all_gather", "-n", "2", "-o", "max"},
                  "no reduction"},
        WrongLine{"ExplainUnreducibleType",
                  {"explain", "--op", "all_reduce", "-n", "2", "-d", "int128"},
                  "cannot be reduced"},
        WrongLine{"ExplainSizeOfBarrier",
                  {"explain", "--op", "barrier", "-n", "2", "-b", "8"},
                  "no data"},
        WrongLine{
            "ExplainHosts", {"explain", "--op", "barrier", "-n", "2", "--hosts", "3"}, "3 hosts"},
        WrongLine{"ExplainMemoryOfAPlan",
                  {"explain", "--op", "barrier", "-n", "2", "--memory", "heap"},
                  "carried out"},
        WrongLine{"ExplainPlanOfARun",
                  {"explain", "all_reduce", "-n", "2", "--policy", "x"},
                  "--policy is for --op"},
        WrongLine{"ExplainReductionAsOp",
                  {"explain", "all_reduce", "-n", "2", "--op", "max"},
                  "a reduction is -o"},
        WrongLine{"ExplainRankWithoutSteps",
                  {"explain", "--op", "barrier", "-n", "2", "--rank", "1"},
                  "--steps"},
        WrongLine{"PolicyOfNothing", {"policy"}, "lint, show or diff?"},
        WrongLine{"PolicyUnknown", {"policy", "lnit"}, "did you mean 'lint'?"},
        WrongLine{"PolicyDiffOfOne", {"policy", "diff", "a.toml"}, "two files"},
        WrongLine{"PolicyLintOfTwo", {"policy", "lint", "a", "b"}, "too many"},
        WrongLine{"PolicyStrictShow", {"policy", "show", "--strict"}, "for lint"},
        WrongLine{"PluginsWithWord", {"plugins", "mesh"}, "too many"},
        WrongLine{"CheckWithoutWord", {"check"}, "which plugin?"},
        WrongLine{"CheckUnknownName", {"check", "mehs"}, "did you mean 'mesh'?"},
        WrongLine{"CheckUnknownAlgorithm", {"check", "mesh.two_shots"}, "'mesh.two_shot'"},
        WrongLine{"CheckUnknownOperation", {"check", "mesh", "--op", "barier"}, "'barrier'"},
        WrongLine{"CheckOneRank", {"check", "mesh", "--ranks", "1..4"}, "'1'"},
        WrongLine{"CheckEmptyRange", {"check", "mesh", "--ranks", "4..2"}, "empty range"},
        WrongLine{"CheckNoRanks", {"check", "mesh", "--ranks", ","}, "''"},
        WrongLine{"CheckNoParam", {"check", "ring", "--param", "pieces"}, "pieces=4"},
        WrongLine{"CheckTextParam",
                  {"check", "ring", "--param", "pieces=x"},
                  "cannot be \"x\"; allowed: 1..64"},
        WrongLine{
            "CheckUnknownParam", {"check", "ring", "--param", "piece=4"}, "did you mean 'pieces'?"},
        WrongLine{"CheckParamTooLarge",
                  {"check", "ring", "--param", "pieces=65"},
                  "pieces of ring.broadcast cannot be 65; allowed: 1..64"},
        WrongLine{"CheckNoTime", {"check", "mesh", "--time", "0"}, "seconds"},
        WrongLine{"CheckRanksOfNoPage", {"check", "mesh", "--html-ranks", "4"}, "without --html"}),
    [](const testing::TestParamInfo<WrongLine>& each) { return each.param.name; });

}  // namespace
}  // namespace weft::test
