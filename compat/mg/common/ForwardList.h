/*
 * A list of items with links of their own, in one direction.
 */
#ifndef THRUM_COMPAT_MG_COMMON_FORWARDLIST_H
#define THRUM_COMPAT_MG_COMMON_FORWARDLIST_H

#include "mg/box/ForwardList.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::ForwardList;

} // namespace common
} // namespace mg

#endif
