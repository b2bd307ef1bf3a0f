// SPDX-License-Identifier: Apache-2.0
// Registry of ranges outside of the heaps, and questions about addresses.
#include "memory.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "context.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

struct Known {
  size_t size;
  Place place;
  int32_t device;
};

struct Registry {
  std::shared_mutex mutex;
  std::map<uintptr_t, Known> ranges;     // by first address; disjoint
  std::map<uintptr_t, size_t> reserved;  // the same; mapped ranges lie inside of them
};

Registry& registry() {
  static auto& all = *new Registry;  // never destroyed: threads may still run during exit
  return all;
}

// The element that contains the address, or end().
template <class Map, class Size>
auto find_in(Map& map, uintptr_t address, Size size_of) {
  auto it = map.upper_bound(address);
  if (it == map.begin()) return map.end();
  --it;
  return address - it->first < size_of(it->second) ? it : map.end();
}

auto find_known(const Registry& all, uintptr_t address) {
  return find_in(all.ranges, address, [](const Known& known) { return known.size; });
}

// Whether mapped ranges of one kind that follow each other without a gap hold all of it: a block
// may be made of many pieces of physical memory.
bool mappings_hold(uintptr_t base, size_t size) noexcept {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  auto it = find_known(all, base);
  if (it == all.ranges.end()) return false;
  const Place place = it->second.place;
  for (;;) {
    const uintptr_t end = it->first + it->second.size;
    if (size <= end - base) return true;
    if (++it == all.ranges.end() || it->first != end || it->second.place != place) return false;
  }
}

// Page size a program should assume: blocks on huge pages begin at multiples of 2 MiB.
uint32_t page_size(const Location& location, const void* address) {
  if (Mapped mapped; in_reserved(location.place) && find_mapping(address, &mapped))
    return static_cast<uint32_t>(mapped.page);
  if (location.place != Place::kHeap) return kPage;
  const Range block = find_heap(address)->block_of(address);
  return block.base % kHugePage == 0 && block.size >= kHugePage ? kHugePage : kPage;
}

aclError get_range(void* address, Range* range) {
  constexpr const char* kWhere = "aclrtMemGetAddressRange";
  const Location location = locate(address);
  *range = location.range;
  if (location.place == Place::kHeap) *range = find_heap(address)->block_of(address);
  if (Mapped mapped; in_reserved(location.place) && find_mapping(address, &mapped)) {
    *range = mapped.range;
  } else if (location.place == Place::kReserved) {
    *range = {};
  }
  if (location.place != Place::kUnknown && range->size != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: %p lies in no allocated block and no mapping; pass an address from aclrtMalloc, "
              "aclrtMallocHost or aclrtMapMem",
              kWhere, address);
}

}  // namespace

Location locate(const void* address) noexcept {
  if (Heap* heap = find_heap(address)) {
    const Range range{reinterpret_cast<uintptr_t>(heap->base()), heap->size()};
    return {Place::kHeap, heap->device(), range};
  }
  const auto value = reinterpret_cast<uintptr_t>(address);
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  if (const auto it = find_known(all, value); it != all.ranges.end()) {
    return {it->second.place, it->second.device, {it->first, it->second.size}};
  }
  const auto it = find_in(all.reserved, value, [](size_t size) { return size; });
  if (it == all.reserved.end()) return {};
  return {Place::kReserved, -1, {it->first, it->second}};
}

aclError check_range(const void* address, size_t size, const char* where,
                     const char* name) noexcept {
  const Location location = locate(address);
  if (location.place == Place::kUnknown) return ACL_SUCCESS;
  if (location.place == Place::kReserved) {
    return fail(
        ACL_ERROR_RT_PARAM_INVALID,
        "%s: %s %p is a reserved address without memory that may be used; call aclrtMapMem, "
        "and aclrtMemSetAccess after aclrtMemMapNoAccess",
        where, name, address);
  }
  const auto base = reinterpret_cast<uintptr_t>(address);
  if (size <= location.range.size - (base - location.range.base)) return ACL_SUCCESS;
  if (in_reserved(location.place) && mappings_hold(base, size)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: %s %p + %zu bytes ends outside of the memory it begins in; check the size",
              where, name, address, size);
}

aclError need_known(const void* address, size_t size, bool pinned_too, const char* where,
                    const char* name) noexcept {
  const Place place = locate(address).place;
  if (is_device(place) || (pinned_too && is_pinned(place))) {
    return check_range(address, size, where, name);
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: %s %p is not device%s memory; allocate it with aclrtMalloc%s", where, name,
              address, pinned_too ? " or page-locked" : "",
              pinned_too ? " or aclrtMallocHost" : "");
}

bool add_range(Range range, Place place, int32_t device, Range* obstacle) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  auto next = all.ranges.lower_bound(range.base);
  auto met = all.ranges.end();
  if (next != all.ranges.end() && next->first - range.base < range.size) {
    met = next;
  } else if (next != all.ranges.begin()) {
    const auto previous = std::prev(next);
    if (range.base - previous->first < previous->second.size) met = previous;
  }
  if (met != all.ranges.end()) {
    *obstacle = {met->first, met->second.size};
    return false;
  }
  all.ranges.emplace(range.base, Known{range.size, place, device});
  return true;
}

aclError refuse_stale(Range obstacle, const char* where) noexcept {
  return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              "%s: the new memory overlaps the range at %p of %zu bytes, which is registered but "
              "was freed; call aclrtHostUnregister before freeing registered memory",
              where, reinterpret_cast<void*>(obstacle.base), obstacle.size);
}

bool remove_range(uintptr_t base, Place place, Range* removed) noexcept {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  const auto it = all.ranges.find(base);
  if (it == all.ranges.end() || it->second.place != place) return false;
  *removed = {it->first, it->second.size};
  all.ranges.erase(it);
  return true;
}

void add_reserved(Range range) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.reserved.emplace(range.base, range.size);
}

void remove_reserved(uintptr_t base) noexcept {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.reserved.erase(base);
}

bool has_range(uintptr_t base, Place place) noexcept {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto it = all.ranges.find(base);
  return it != all.ranges.end() && it->second.place == place;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  if (ptr == nullptr || attributes == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtPointerGetAttributes: %s is NULL",
                ptr == nullptr ? "ptr" : "attributes");
  }
  const Location location = locate(ptr);
  *attributes = aclrtPtrAttributes{};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  if (is_device(location.place)) {
    attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes->location.id = static_cast<uint32_t>(location.device);
  } else if (is_pinned(location.place)) {
    attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
  }
  attributes->pageSize = page_size(location, ptr);
  return ACL_SUCCESS;
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  if (pbase == nullptr && psize == nullptr) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtMemGetAddressRange: both outputs are NULL; pass where to store one");
  }
  Range range;
  if (const aclError error = get_range(ptr, &range)) return error;
  if (pbase != nullptr) *pbase = reinterpret_cast<void*>(range.base);
  if (psize != nullptr) *psize = range.size;
  return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* freeSize, size_t* totalSize) {
  constexpr const char* kWhere = "aclrtGetMemInfo";
  if (freeSize == nullptr || totalSize == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: an output is NULL; pass where to store both sizes",
                kWhere);
  }
  if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
    return fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE, "%s: memory attribute %d does not exist", kWhere,
                attr);
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const Heap* heap = heap_of(context->device, kWhere, ACL_ERROR_RT_DEV_SETUP_ERROR);
  if (heap == nullptr) return ACL_ERROR_RT_DEV_SETUP_ERROR;
  *freeSize = heap->free_bytes();
  *totalSize = heap->size();
  return ACL_SUCCESS;
}
