// SPDX-License-Identifier: Apache-2.0
#include "plugin/registry.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "support/unprivileged.hpp"

namespace weft::plugin {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = WEFT_TEST_PLUGINS;

fs::path new_folder() {
  std::string folder = testing::TempDir() + "weft-registry-XXXXXX";
  return mkdtemp(folder.data());
}

void expect_error(HcclResult code, const std::string& part, const std::function<void()>& act) {
  try {
    act();
    FAIL() << "no error with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Registry, KeepsWhatAPluginTells) {
  Registry registry;
  registry.load(kFolder / "fault_none.so");
  ASSERT_EQ(registry.plugins().size(), 1U);
  const Plugin& plugin = registry.plugins().front();
  EXPECT_EQ(plugin.refusal, "");
  EXPECT_EQ(plugin.name, "fault");
  EXPECT_EQ(plugin.version, "1.2.3");
  EXPECT_EQ(plugin.summary, "for tests");
  EXPECT_EQ(plugin.kind, uint32_t{WEFT_KIND_ALGORITHMS});
  EXPECT_EQ(plugin.abi_major, WEFT_ABI_MAJOR);
  EXPECT_EQ(plugin.abi_minor, WEFT_ABI_MINOR);
  EXPECT_EQ(plugin.offers, (std::vector<std::string>{"fault.one", "fault.two"}));
}

TEST(Registry, CopiesAlgorithmsWithTheirParameters) {
  Registry registry;
  registry.load(kFolder / "fault_none.so");
  const Algorithm* one = registry.find_algorithm("fault.one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->summary, "the first");
  EXPECT_STREQ(one->table.hccl_algo, "NHR");
  EXPECT_EQ(one->table.op, uint32_t{WEFT_OP_ALL_REDUCE});
  EXPECT_EQ(one->table.flags, uint32_t{WEFT_ALGORITHM_RANK_ORDER});
  ASSERT_EQ(one->params.size(), 3U);
  EXPECT_EQ(one->params[0].name, "depth");
  EXPECT_EQ(one->params[0].help, "first");
  EXPECT_EQ(one->params[0].def, 2);
  EXPECT_EQ(one->params[1].name, "width");
  EXPECT_EQ(one->params[1].min, -4);
  EXPECT_EQ(one->params[1].max, 4);
  EXPECT_EQ(one->params[1].type, uint32_t{WEFT_PARAM_INTEGER});
  EXPECT_EQ(one->params[2].type, uint32_t{WEFT_PARAM_CHOICE});
  EXPECT_EQ(one->params[2].choices, (std::vector<std::string>{"left", "right"}));
  const Algorithm* two = registry.find_algorithm("fault.two");
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(two->summary, "");
  EXPECT_EQ(two->table.min_ranks, 3U);
  EXPECT_EQ(two->table.max_ranks, 4U);
  EXPECT_EQ(registry.find_algorithm("fault.three"), nullptr);
  EXPECT_EQ(registry.find_algorithm("one"), nullptr);
  EXPECT_EQ(two->table.emit(nullptr, nullptr), WEFT_E_PTR);
}

TEST(Registry, UsesAPluginOfALaterMinor) {
  Registry registry;
  registry.load(kFolder / "fault_newer_minor.so");
  const Plugin& plugin = registry.plugins().front();
  EXPECT_EQ(plugin.refusal, "");
  EXPECT_EQ(plugin.abi_minor, 7);
  // The second is for an operation that does not exist yet.
  EXPECT_EQ(plugin.offers, std::vector<std::string>{"newer.one"});
  const Algorithm* one = registry.find_algorithm("newer.one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->table.head.size, sizeof(weft_algorithm));
  ASSERT_EQ(one->params.size(), 3U);  // its parameters are longer than ours
  EXPECT_EQ(one->params[1].name, "width");
  EXPECT_EQ(one->params[1].def, -3);
}

TEST(Registry, UsesAnAlgorithmThatEndsBeforeTheOptionalFields) {
  Registry registry;
  registry.load(kFolder / "fault_before_hccl_algo.so");
  EXPECT_EQ(registry.plugins().front().refusal, "");
  const Algorithm* one = registry.find_algorithm("fault.one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->table.hccl_algo, nullptr);
}

TEST(Registry, UsesATransportWrittenInC) {
  Registry registry;
  registry.load(kFolder / "fault_transport_none.so");
  EXPECT_EQ(registry.plugins().front().refusal, "");
  EXPECT_EQ(registry.plugins().front().offers, (std::vector<std::string>{"direct", "tasks"}));
  EXPECT_EQ(registry.find_transport("somewhere"), nullptr);
  const Transport* transport = registry.find_transport("nowhere");
  ASSERT_NE(transport, nullptr);
  void* context = nullptr;
  EXPECT_EQ(transport->table.open(&host(), &context), WEFT_E_UNAVAIL);
  EXPECT_EQ(take_failure(), "no devices");
}

TEST(Registry, UsesAMemoryPluginWrittenInC) {
  Registry registry;
  registry.load(kFolder / "fault_memory_none.so");
  EXPECT_EQ(registry.plugins().front().refusal, "");
  EXPECT_EQ(registry.find_memory("nowhere"), nullptr);
  const Memory* memory = registry.find_memory("nowhere-memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->table.families, WEFT_MEMORY_WINDOWS | WEFT_MEMORY_RANGES);
  void* context = nullptr;
  EXPECT_EQ(memory->table.open(&host(), &context), WEFT_OK);
}

TEST(Registry, AMemoryPluginNeedsOnlyTheFunctionsOfWhatItOffers) {
  for (const char* file : {"fault_memory_windows_only.so", "fault_memory_ranges_only.so"}) {
    Registry registry;
    registry.load(kFolder / file);
    EXPECT_EQ(registry.plugins().front().refusal, "");
    EXPECT_NE(registry.find_memory("nowhere-memory"), nullptr);
  }
}

TEST(Registry, LoadsAFolderInTheOrderOfNames) {
  const fs::path folder = new_folder();
  fs::copy_file(kFolder / "toy.so", folder / "b.so");
  fs::copy_file(kFolder / "fault_none.so", folder / "a.so");
  fs::copy_file(kFolder / "fault_magic.so", folder / "c.so");
  Registry registry;
  registry.load(folder);
  ASSERT_EQ(registry.plugins().size(), 3U);
  EXPECT_EQ(registry.plugins()[0].name, "fault");
  EXPECT_EQ(registry.plugins()[1].name, "toy");
  EXPECT_EQ(registry.plugins()[2].name, "");
  EXPECT_NE(registry.find_algorithm("toy.pair"), nullptr);
  fs::remove_all(folder);
}

TEST(Registry, SkipsAFileThatItHasSeenUnderAnyPath) {
  const fs::path folder = new_folder();
  fs::create_symlink(kFolder / "fault_none.so", folder / "again.so");
  Registry registry;
  registry.load(kFolder / "fault_none.so");
  registry.load(kFolder / ".." / kFolder.filename() / "fault_none.so");
  registry.load(folder);
  EXPECT_EQ(registry.plugins().size(), 1U);
  EXPECT_EQ(registry.algorithms().size(), 2U);
  fs::remove_all(folder);
}

TEST(Registry, RefusesTwoPluginsOfOneName) {
  const fs::path folder = new_folder();
  fs::copy_file(kFolder / "fault_none.so", folder / "copy.so");
  Registry registry;
  registry.load(kFolder / "fault_none.so");
  const auto load_copy = [&] { registry.load(folder); };
  expect_error(HCCL_E_PARA, "two plugins are named \"fault\"", load_copy);
  expect_error(HCCL_E_PARA, (kFolder / "fault_none.so").string(), load_copy);
  expect_error(HCCL_E_PARA, "copy.so", load_copy);
  EXPECT_EQ(registry.plugins().size(), 1U);
  EXPECT_EQ(registry.algorithms().size(), 2U);
  fs::remove_all(folder);
}

TEST(Registry, LetsARefusedPluginHaveAnyName) {
  Registry registry;
  registry.load(kFolder / "fault_min_ranks.so");
  registry.load(kFolder / "fault_none.so");
  EXPECT_EQ(registry.plugins()[0].name, "fault");
  EXPECT_NE(registry.plugins()[0].refusal, "");
  EXPECT_EQ(registry.plugins()[1].refusal, "");
}

TEST(Registry, MissesAPathThatDoesNotExist) {
  Registry registry;
  expect_error(HCCL_E_NOT_FOUND, "/no/such/folder: No such file",
               [&] { registry.load("/no/such/folder"); });
}

TEST(Registry, CannotUseAFolderThatMayNotBeRead) {
  const fs::path folder = new_folder();
  fs::permissions(folder, fs::perms::none);
  Registry registry;
  {
    const test::Unprivileged rights;
    expect_error(HCCL_E_OPEN_FILE_FAILURE, folder.string() + ": Permission denied",
                 [&] { registry.load(folder); });
    const fs::path inside = folder / "inside";
    expect_error(
        HCCL_E_NOT_FOUND,
        "cannot look at the plugin file or folder " + inside.string() + ": Permission denied",
        [&] { registry.load(inside); });
  }
  fs::remove_all(folder);
}

TEST(Registry, KeepsFilesLoadedAndTheirSymbolsLocal) {
  const fs::path file = kFolder / "toy.so";
  weft_algorithm table;
  {
    Registry registry;
    registry.load(file);
    table = registry.find_algorithm("toy.barrier")->table;
  }
  void* again = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(again, nullptr);
  if (again != nullptr) dlclose(again);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, WEFT_PLUGIN_SYMBOL), nullptr);
  EXPECT_EQ(table.emit(nullptr, nullptr), WEFT_E_PTR);
}

}  // namespace
}  // namespace weft::plugin
