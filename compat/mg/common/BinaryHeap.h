/*
 * A binary heap, with the least or the greatest item at its top.
 */
#ifndef THRUM_COMPAT_MG_COMMON_BINARYHEAP_H
#define THRUM_COMPAT_MG_COMMON_BINARYHEAP_H

#include "mg/box/BinaryHeap.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::BinaryHeap;
using box::BinaryHeapMax;
using box::BinaryHeapMaxIntrusive;
using box::BinaryHeapMaxPtr;
using box::BinaryHeapMin;
using box::BinaryHeapMinIntrusive;
using box::BinaryHeapMinPtr;

} // namespace common
} // namespace mg

#endif
