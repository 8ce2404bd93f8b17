/*
 * The place of a member in its class, and the object that contains a member.
 */
#ifndef THRUM_COMPAT_MG_COMMON_TYPETRAITS_H
#define THRUM_COMPAT_MG_COMMON_TYPETRAITS_H

#include "mg/box/TypeTraits.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::ContainerOf;
using box::OffsetOf;

} // namespace common
} // namespace mg

#endif
