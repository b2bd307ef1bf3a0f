// SPDX-License-Identifier: Apache-2.0
// `weft check`: what is proved, what is shown of what is wrong, and how it ends.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support.hpp"

namespace weft::test {
namespace {

const std::string kMistaken = WEFT_MISTAKEN;

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(Check, ProvesEveryInstalledAlgorithm) {
  const Outcome outcome = weft({"check", "all", "--ranks", "2..5"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_parts(outcome.out, {"mesh.two_shot", "ring.broadcast", "tree.barrier", "2..5",
                             "algorithms are proved."});
  EXPECT_EQ(outcome.out.find("WRONG"), std::string::npos) << outcome.out;
}

TEST(Check, TellsWhatAnAlgorithmTakes) {
  const Outcome outcome = weft({"check", "mesh.two_shot", "--ranks", "2..8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  std::istringstream words(line);
  std::vector<std::string> row;
  for (std::string word; words >> word;) row.push_back(word);
  // 2 (n-1) signals, as many waits and a reduce; 7 pieces of 1/8 are read, and 7 written.
  EXPECT_EQ(
      row, (Words{"mesh.two_shot", "all_reduce", "2..8", "yes", "8", "29", "2", "1.75", "proved"}));
  expect_parts(outcome.out, {"1 of 1 algorithm is proved."});
}

TEST(Check, ShowsTheSmallestCounterExampleOfEachMistake) {
  const Outcome outcome = weft({"check", kMistaken, "--ranks", "2..6"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  expect_parts(
      outcome.out,
      {"mistaken.doubling  all_reduce  2 ", "WRONG with 3 ranks",
       "mistaken.doubling, all_reduce, 3 ranks, not in place\n  wrong result (not in place): ",
       "is missing", "rank 0", "rank 1", "rank 2", "->a", " ! ",
       "it is right for 2 and 4 ranks: does it take the number of ranks for a power of two?",
       "mistaken.hasty, all_gather, 2 ranks, not in place\n  data race",
       "can end its call while rank",
       "mistaken.losing, broadcast, 2 ranks, root 0, pieces = 8\n  wrong result", "out[7/8]@1",
       "1 of 4 algorithms are proved, 3 wrong."});
}

TEST(Check, LooksAtOneOperationOrParameterOnly) {
  const Outcome broadcast =
      weft({"check", kMistaken, "--op", "broadcast", "--param", "pieces=5", "--ranks", "2..4"});
  EXPECT_EQ(broadcast.code, 0) << broadcast.out << broadcast.err;
  EXPECT_EQ(broadcast.out.find("doubling"), std::string::npos) << broadcast.out;
  const Outcome powers = weft({"check", kMistaken, "--op", "all_reduce", "--ranks", "2,4,8"});
  EXPECT_EQ(powers.code, 0) << powers.out;
  expect_parts(powers.out, {"2,4,8"});
  const Outcome none = weft({"check", kMistaken, "--op", "barrier"});
  EXPECT_EQ(none.code, 1);
  expect_parts(none.err, {"none of these algorithms is for barrier"});
}

TEST(Check, SaysWhatItWasNotAskedFor) {
  const Outcome outcome = weft({"check", kMistaken, "--op", "all_gather", "--ranks", "5..6"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.out, {"not asked: it serves 2 to 4 ranks", "0 of 1 algorithm is proved."});
}

TEST(Check, SaysHowFarItCameInTime) {
  const Outcome outcome = weft({"check", "mesh.barrier", "--time", "0.000001"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(
      outcome.out,
      {"no time for 2..17,32,33,64 ranks",
       "0 of 1 algorithm is proved; time ran out: nothing is said about 2 ranks and more."});
}

TEST(Check, APluginThatCannotBeLoadedIsAFailure) {
  const Folder folder;
  const std::string file = folder.path() + "/broken.so";
  std::ofstream(file) << "no library";
  const Outcome broken = weft({"check", file});
  EXPECT_EQ(broken.code, 1);
  expect_parts(broken.err, {"broken.so cannot be used: cannot be loaded"});
  const Outcome none = weft({"check", "./none.so"});
  EXPECT_EQ(none.code, 1);
  expect_parts(none.err, {"none.so", "No such file"});
  const Outcome transport = weft({"check", "hccs-sdma"});
  EXPECT_EQ(transport.code, 1);
  expect_parts(transport.err, {"hccs-sdma has no algorithms"});
}

TEST(Check, APluginThatCrashesIsNamed) {
  const Outcome outcome = weft({"check", WEFT_CRASHER, "--ranks", "2..5"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"crasher.barrier crashed", "4 ranks"});
  EXPECT_EQ(weft({"check", WEFT_CRASHER, "--ranks", "2,3"}).code, 0);
}

TEST(Check, APluginThatDoesNotComeBackIsNamed) {
  const Outcome ended = weft({"check", WEFT_QUITTER, "--op", "all_reduce"});
  EXPECT_EQ(ended.code, 1) << ended.out;
  expect_parts(ended.err, {"quitter.all_reduce crashed, ended the program, or did not", "2 ranks"});
  const Outcome late = weft({"check", WEFT_QUITTER, "--op", "broadcast", "--time", "1"});
  EXPECT_EQ(late.code, 1) << late.out;
  expect_parts(late.err, {"quitter.broadcast crashed", "did not come back within", "2 ranks"});
}

TEST(Check, OtherToolsNameItToo) {
  const Folder folder;
  const Environment plugin = {{"WEFT_PLUGIN_PATH", WEFT_QUITTER}};
  const Outcome tuned =
      weft({"tune", "-n", "2", "--ops", "all_reduce", "--time", "2s"}, plugin, folder.path());
  EXPECT_EQ(tuned.code, 1) << tuned.out;
  expect_parts(tuned.err, {"weft tune: quitter.all_reduce crashed", "--without leaves"});
  EXPECT_TRUE(folder.empty());
  const Outcome compared =
      weft({"ab", "all_reduce", "-n", "2", "--arms", "quitter.all_reduce,mesh.one_shot"}, plugin);
  EXPECT_EQ(compared.code, 1) << compared.out;
  expect_parts(compared.err, {"weft ab: quitter.all_reduce crashed"});

  std::ifstream installed(WEFT_DEFAULT_POLICY);
  std::string text(std::istreambuf_iterator<char>(installed), {});
  text.insert(
      text.find("[[rule]]"),
      "[[rule]]\nop = \"all_reduce\"\nwhen = { ranks = 2 }\nuse = \"quitter.all_reduce\"\n");
  const std::string file = folder.path() + "/quit.toml";
  std::ofstream(file) << text;
  Environment policy = plugin;
  policy["WEFT_POLICY"] = file;
  const Outcome explained = weft({"explain", "--op", "all_reduce", "-n", "2"}, policy);
  EXPECT_EQ(explained.code, 1) << explained.out;
  expect_parts(explained.err, {"weft explain: quitter.all_reduce crashed"});
  for (const Words& more : {Words{}, Words{"--threads"}}) {
    Words words = {"bench", "all_reduce", "-n", "2", "-b", "8", "-e", "8", "--timeout", "30"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome measured = weft(words, policy);
    EXPECT_EQ(measured.code, 1) << measured.out;
    expect_parts(measured.err, {"ended as if all were done, but is not through"});
  }
}

TEST(Check, JsonHasTheSame) {
  const Outcome outcome = weft({"check", kMistaken, "--ranks", "2..4", "--json"});
  EXPECT_EQ(outcome.code, 1);
  const nlohmann::json all = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(all.size(), 4u);
  const nlohmann::json& fine = all[0];
  EXPECT_EQ(fine["algorithm"], "mistaken.fine");
  EXPECT_EQ(fine["result"], "proved");
  EXPECT_EQ(fine["proved"], nlohmann::json({2, 3, 4}));
  EXPECT_EQ(fine["cost"]["ranks"], 4);
  EXPECT_EQ(fine["cost"]["rounds"], 1);
  EXPECT_EQ(fine["cost"]["scratch_blocks"], 1);
  EXPECT_EQ(fine["notes"].size(), 1u);  // it sums in rank order and does not say so
  const nlohmann::json& wrong = all[1]["counter_example"];
  EXPECT_EQ(all[1]["result"], "wrong");
  EXPECT_EQ(wrong["ranks"], 3);
  EXPECT_EQ(wrong["calls"], 1);
  EXPECT_EQ(wrong["fault"], "wrong result");
  EXPECT_EQ(wrong["placement"], "not in place");
  EXPECT_EQ(wrong["expected"], "in@0 + in@1 + in@2");
  EXPECT_EQ(wrong["events"].size(), 1u);
  EXPECT_TRUE(wrong["events"][0].contains("text"));
  const nlohmann::json& race = all[2]["counter_example"];
  EXPECT_EQ(race["fault"], "data race");
  EXPECT_EQ(race["events"].size(), 2u);
  EXPECT_EQ(all[3]["counter_example"]["params"]["pieces"], 8);
}

/// Every tag is closed, in its turn, and nothing else has a '<' or a bare '&'.
void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    ASSERT_FALSE(tag.empty());
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag.front() == '!' || tag.back() == '/') continue;
    if (tag.front() != '/') {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
      continue;
    }
    ASSERT_FALSE(open.empty()) << tag;
    EXPECT_EQ("/" + open.back(), tag);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
  for (size_t at = page.find('&'); at != std::string::npos; at = page.find('&', at + 1)) {
    const std::string name = page.substr(at, page.find(';', at) - at);
    EXPECT_TRUE(name == "&amp" || name == "&lt" || name == "&gt" || name == "&quot") << name;
  }
}

size_t times_in(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string contents_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Check, WritesAPageOfRightAlgorithmsToo) {
  const Folder folder;
  const std::string file = folder.path() + "/page.html";
  const Outcome outcome =
      weft({"check", "mesh.two_shot", "--ranks", "2..4", "--html", file, "--html-ranks", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = contents_of(file);
  expect_well_formed(page);
  EXPECT_EQ(times_in(page, "<text class=\"rank\""), 3u);
  EXPECT_EQ(times_in(page, "class=\"signal\""), 3u * 4);
  EXPECT_EQ(times_in(page, "class=\"wait\""), 3u * 4);
  EXPECT_EQ(times_in(page, "class=\"reduce\""), 3u);
  EXPECT_EQ(times_in(page, "marker-end"), 3u * 4);
  EXPECT_EQ(times_in(page, "fault\""), 0u);
  for (const char* loads : {"src=", "href=", "@import", "<script", "<link"}) {
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
}

TEST(Check, WritesAPageOfCounterExamples) {
  const Folder folder;
  const std::string file = folder.path() + "/page.html";
  EXPECT_EQ(weft({"check", kMistaken, "--ranks", "2..4", "--html", file}).code, 1);
  const std::string page = contents_of(file);
  expect_well_formed(page);
  expect_parts(page, {"wrong with 3 ranks", "proved for 2..4 ranks; here with 4", "in@0 + in@1",
                      "class=\"copy fault\""});
}

TEST(Check, APageThatCannotBeWrittenIsAFailure) {
  const Outcome outcome =
      weft({"check", "mesh.barrier", "--ranks", "2", "--html", "/no/such/folder/page.html"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"cannot write /no/such/folder/page.html: No such file"});
  const Folder folder;
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome blocked = weft({"check", "mesh.barrier", "--ranks", "2", "--html", pipe});
  EXPECT_EQ(blocked.code, 1);
  expect_parts(blocked.err, {pipe.c_str(), ": it is there, and is no file"});
}

}  // namespace
}  // namespace weft::test
