// SPDX-License-Identifier: Apache-2.0
// Every mistake that a policy file can hold: where it is said to be, and in which words.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "base/error.hpp"
#include "config/policy.hpp"
#include "policy_text.hpp"

namespace weft::config {
namespace {

struct Mistake {
  const char* name;
  std::string text;
  std::string message;  // the beginning of it, after the name of the file
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

std::string case_name(const testing::TestParamInfo<Mistake>& test) { return test.param.name; }

class PolicyErrors : public testing::TestWithParam<Mistake> {};

TEST_P(PolicyErrors, NamesPlaceAndRemedy) {
  try {
    (void)Policy::parse(GetParam().text, "p.toml");
    FAIL() << "accepted:\n" << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_PARA);
    const std::string expected = "p.toml:" + GetParam().message;
    EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected) << error.what();
  }
}

TEST(ManyPolicyErrors, AllPartsThatAreWrongAreTold) {
  try {
    (void)Policy::parse(with("[transport]\nengine = \"fast\"\n"
                             "[[rule]]\nop = \"all_reduce\"\nuse = \"ring\"\n"
                             "[[rule]]\nop = \"barier\"\nuse = \"mesh.barrier\"\n"),
                        "p.toml");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("p.toml:3:10: "), 0U) << text;
    EXPECT_NE(text.find("\np.toml:6:7: \"use\" must be"), std::string::npos) << text;
    EXPECT_NE(text.find("\np.toml:8:6: unknown operation"), std::string::npos) << text;
  }
}

TEST(ManyPolicyErrors, OfManyTheFirstAreTold) {
  std::string rules;
  for (int i = 0; i < 30; ++i) rules += "[[rule]]\nop = \"barier\"\n";
  try {
    (void)Policy::parse(with(rules), "p.toml");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20) << text;
    EXPECT_NE(text.find("\nand 10 more"), std::string::npos) << text;
  }
}

std::string rule(const std::string& text) { return with("[[rule]]\n" + text + "\n"); }

const Mistake kSyntax[] = {
    {"BrokenToml", "schema = \n", "1:10: "},
    {"DuplicateKey", "schema = 1\nschema = 1\n", "2:"},
    {"NotUtf8", "schema = 1 # \xff\n", "1:13: "},
    {"NulByte", std::string("schema = 1\n\0", 12), "2:1: "},
    {"HugeInteger", rule_with("when = { bytes = 9223372036854775808 }"), "4:"},
};
INSTANTIATE_TEST_SUITE_P(Syntax, PolicyErrors, testing::ValuesIn(kSyntax), case_name);

const Mistake kTop[] = {
    {"Empty", "", "1:1: no \"schema\": begin the file with \"schema = 1\""},
    {"NoSchema", kCatchAlls, "1:1: no \"schema\""},
    {"OtherSchema", "schema = 2\n",
     "1:10: schema 2 is not known here: this library reads schema 1"},
    {"SchemaText", "schema = \"1\"\n", "1:10: \"schema\" must be a whole number, not a string"},
    {"UnknownKey", with("[plugin]\n"), "2:2: unknown key \"plugin\"; did you mean \"plugins\"?"},
    {"FarKey", with("colour = 1\n"),
     "2:1: unknown key \"colour\"; known are schema, rule, experiment, plugins, transport, "
     "memory, control"},
    {"RuleTable", "schema = 1\n[rule]\nop = \"barrier\"\n", "2:1: a rule begins with [[rule]]"},
    {"RuleNumbers", "schema = 1\nrule = [1]\n", "2:9: \"rule\" must be a table, not an integer"},
    {"NoRules", "schema = 1\n", "1:1: no rule for all_reduce: add one without \"when\""},
    {"NoCatchAll",
     "schema = 1\n[[rule]]\nop = \"all_reduce\"\nwhen = { ranks = \"2\" }\n"
     "use = \"a.b\"\n",
     "2:1: the last rule of all_reduce has conditions: add one without \"when\" after it"},
};
INSTANTIATE_TEST_SUITE_P(Top, PolicyErrors, testing::ValuesIn(kTop), case_name);

const Mistake kRules[] = {
    {"NoOp", rule("use = \"a.b\""), "2:1: there is no \"op\" here"},
    {"NoUse", rule("op = \"barrier\""), "2:1: there is no \"use\" here"},
    {"UnknownOp", rule("op = \"allreduce\"\nuse = \"a.b\""),
     "3:6: unknown operation \"allreduce\"; did you mean \"all_reduce\"?"},
    {"OpNumber", rule("op = 1\nuse = \"a.b\""), "3:6: \"op\" must be a string, not an integer"},
    {"UseWithoutDot", rule("op = \"barrier\"\nuse = \"mesh\""),
     "4:7: \"use\" must be \"plugin.algorithm\", not \"mesh\""},
    {"UseEmptyName", rule("op = \"barrier\"\nuse = \"mesh.\""), "4:7: \"use\" must be"},
    {"UseTwoDots", rule("op = \"barrier\"\nuse = \"a.b.c\""), "4:7: \"use\" must be"},
    {"UseCapitals", rule("op = \"barrier\"\nuse = \"Mesh.barrier\""), "4:7: \"use\" must be"},
    {"UnknownKey", rule_with("wen = { bytes = 1 }"),
     "4:1: unknown key \"wen\" in \"rule\"; did you mean \"when\"?"},
    {"ParamsNoTable", rule_with("params = 1"), "4:10: \"params\" must be a table, not an integer"},
    {"ParamFraction", rule_with("params = { pieces = 1.5 }"),
     "4:21: \"pieces\" must be a whole number, true or false, or a name, not a floating-point"},
    {"AfterCatchAll",
     with("") + "[[rule]]\nop = \"barrier\"\nwhen = { ranks = 4 }\n"
                "use = \"a.b\"\n",
     "36:1: this rule is never reached: the rule in line 18 already takes every call"},
    {"SecondCatchAll", with("[[rule]]\nop = \"all_reduce\"\nuse = \"a.b\"\n"),
     "6:1: this rule is never reached: the rule in line 2"},
    {"Covered",
     with("[[rule]]\nop = \"all_reduce\"\nwhen = { bytes = \"..1MiB\" }\nuse = \"a.b\"\n"
          "[[rule]]\nop = \"all_reduce\"\n"
          "when = { bytes = \"1KiB..2KiB\", type = \"fp32\" }\nuse = \"a.c\"\n"),
     "6:1: this rule is never reached: the rule in line 2"},
};
INSTANTIATE_TEST_SUITE_P(Rules, PolicyErrors, testing::ValuesIn(kRules), case_name);

const Mistake kConditions[] = {
    {"WhenNoTable", rule_with("when = \"..32KiB\""), "4:8: \"when\" must be a table, not a string"},
    {"UnknownKey", rule_with("when = { byte = 1 }"),
     "4:10: unknown key \"byte\" in \"when\"; did you mean \"bytes\"?"},
    {"BytesUnit", rule_with("when = { bytes = \"..32KB\" }"),
     "4:18: \"bytes\": unknown unit \"KB\"; did you mean \"KiB\"?"},
    {"BytesEmpty", rule_with("when = { bytes = \"2..1\" }"),
     "4:18: \"bytes\": the range \"2..1\" is empty"},
    {"BytesNegative", rule_with("when = { bytes = -1 }"),
     "4:18: \"bytes\": \"-1\" does not begin with a whole number, 0 or more"},
    {"BytesOverflow", rule_with("when = { bytes = \"99999999999TiB..\" }"),
     "4:18: \"bytes\": \"99999999999TiB\" is too large"},
    {"BytesFraction", rule_with("when = { bytes = 1.5 }"),
     "4:18: \"bytes\" must be a range like \"2..16\" or a whole number, not a floating-point"},
    {"RanksOne", rule_with("when = { ranks = 1 }"),
     "4:18: \"ranks\": \"1\" matches no number of ranks: they are 2 to"},
    {"RanksUnit", rule_with("when = { ranks = \"2KiB\" }"),
     "4:18: \"ranks\": \"2KiB\" is not a plain whole number"},
    {"Type", rule_with("when = { type = \"fp3\" }"),
     "4:17: unknown type \"fp3\"; did you mean \"fp32\"?"},
    {"TypeInList", rule_with("when = { type = [\"fp16\", \"float64\"] }"),
     "4:26: unknown type \"float64\""},
    {"TypeTwice", rule_with("when = { type = [\"fp16\", \"fp16\"] }"),
     "4:26: \"fp16\" is there twice"},
    {"TypeEmptyList", rule_with("when = { type = [] }"), "4:17: \"type\" is an empty list"},
    {"TypeNumber", rule_with("when = { type = 4 }"),
     "4:17: \"type\" must be a name or a list of names, not an integer"},
    {"TypeNotReducible", rule_with("when = { type = \"int128\" }"),
     "4:17: \"type\": \"int128\" cannot be reduced"},
    {"TypeNotReducibleInList", rule_with("when = { type = [\"fp32\", \"hif8\"] }"),
     "4:26: \"type\": \"hif8\" cannot be reduced"},
    {"TypeNestedList", rule_with("when = { type = [[\"fp32\"]] }"),
     "4:18: \"type\" must be a name or a list of names, not an array"},
    {"Reduce", rule_with("when = { reduce = \"summ\" }"),
     "4:19: unknown reduce \"summ\"; did you mean \"sum\"?"},
    {"Deterministic", rule_with("when = { deterministic = 1 }"),
     "4:26: \"deterministic\" must be true or false, not an integer"},
    {"HostsZero", rule_with("when = { hosts = 0 }"),
     "4:18: \"hosts\": \"0\" matches no number: they are 1 to 4294967295"},
    {"HostsUnit", rule_with("when = { hosts = \"2KiB\" }"),
     "4:18: \"hosts\": \"2KiB\" is not a plain whole number"},
    {"PerHostText", rule_with("when = { ranks_per_host = true }"),
     "4:27: \"ranks_per_host\" must be a range like \"2..16\" or a whole number, not a boolean"},
    {"CommunicatorNumber", rule_with("when = { communicator = 4 }"),
     "4:25: \"communicator\" must be a name or a list of names, not an integer"},
    {"CommunicatorEmpty", rule_with("when = { communicator = \"\" }"),
     "4:25: \"communicator\": a name has at least one character"},
    {"CommunicatorStar", rule_with("when = { communicator = \"a*b\" }"),
     "4:25: \"communicator\": \"a*b\": a * stands for the rest of a name, so it comes last"},
    {"CommunicatorLong", rule_with("when = { communicator = \"" + std::string(128, 'x') + "\" }"),
     "4:25: \"communicator\": \"xxx"},
    {"CommunicatorTwice", rule_with("when = { communicator = [\"a\", \"a\"] }"),
     "4:31: \"a\" is there twice"},
    {"CommunicatorEmptyList", rule_with("when = { communicator = [] }"),
     "4:25: \"communicator\" is an empty list"},
    {"Communicater", rule_with("when = { communicater = \"a\" }"),
     "4:10: unknown key \"communicater\" in \"when\"; did you mean \"communicator\"?"},
    {"Memory", rule_with("when = { memory = \"heap\" }"),
     "4:10: \"memory\" cannot choose an algorithm: the ranks of a call may pass buffers of "
     "different kinds"},
    {"ReduceOfBroadcast", rule("op = \"broadcast\"\nwhen = { reduce = \"sum\" }\nuse = \"a.b\""),
     "4:10: \"reduce\" means nothing for broadcast"},
    {"BytesOfBarrier", rule("op = \"barrier\"\nwhen = { bytes = 1 }\nuse = \"a.b\""),
     "4:10: \"bytes\" means nothing for barrier"},
};
INSTANTIATE_TEST_SUITE_P(Conditions, PolicyErrors, testing::ValuesIn(kConditions), case_name);

const Mistake kSettings[] = {
    {"PluginsNoTable", with("plugins = \"x\"\n"),
     "2:11: \"plugins\" must be a table, not a string"},
    {"PluginsKey", with("[plugins]\npaths = []\n"),
     "3:1: unknown key \"paths\" in \"plugins\"; did you mean \"path\"?"},
    {"RequireCheckNumber", with("[plugins]\nrequire_check = 1\n"),
     "3:17: \"require_check\" must be true or false, not an integer"},
    {"RequireCheckMisspelt", with("[plugins]\nrequire_chek = true\n"),
     "3:1: unknown key \"require_chek\" in \"plugins\"; did you mean \"require_check\"?"},
    {"PathText", with("[plugins]\npath = \"x\"\n"),
     "3:8: \"path\" must be an array of strings, not a string"},
    {"PathNumber", with("[plugins]\npath = [\"x\", 1]\n"),
     "3:14: \"path\" must be a string, not an integer"},
    {"PathEmpty", with("[plugins]\npath = [\"\"]\n"), "3:9: \"path\" has an empty entry"},
    {"TransportKey", with("[transport]\nengin = \"direct\"\n"),
     "3:1: unknown key \"engin\" in \"transport\"; did you mean \"engine\"?"},
    {"TransportName", with("[transport]\nuse = \"hccs sdma\"\n"),
     "3:7: \"use\" must be a name of a-z, 0-9, _ and -"},
    {"Engine", with("[transport]\nengine = \"task\"\n"),
     "3:10: unknown engine \"task\"; did you mean \"tasks\"?"},
    {"MemoryKey", with("[memory]\nordre = []\n"),
     "3:1: unknown key \"ordre\" in \"memory\"; did you mean \"order\"?"},
    {"MemoryText", with("[memory]\norder = \"heap\"\n"),
     "3:9: \"order\" must be an array of strings, not a string"},
    {"MemoryName", with("[memory]\norder = [\"heap\", \"Sym Win\"]\n"),
     "3:18: \"order\" must be a name of a-z, 0-9, _ and -"},
    {"MemoryTwice", with("[memory]\norder = [\"heap\", \"symwin\", \"heap\"]\n"),
     "3:28: \"heap\" is there twice"},
    {"ControlKey", with("[control]\ntimeout = \"1s\"\n"),
     "3:1: unknown key \"timeout\" in \"control\""},
    {"TimeNumber", with("[control]\nexec_timeout = 10\n"),
     "3:16: \"exec_timeout\" must be a string, not an integer"},
    {"TimeUnit", with("[control]\nexec_timeout = \"10\"\n"),
     "3:16: \"exec_timeout\": \"10\" has no unit: write ms, s or min after it"},
    {"TimeZero", with("[control]\nconnect_timeout = \"0s\"\n"),
     "3:19: \"connect_timeout\": \"0s\" is no time at all"},
};
INSTANTIATE_TEST_SUITE_P(Settings, PolicyErrors, testing::ValuesIn(kSettings), case_name);

}  // namespace
}  // namespace weft::config
