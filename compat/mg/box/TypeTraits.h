/*
 * The place of a member in its class, and the object that contains a member.
 */
#ifndef THRUM_COMPAT_MG_BOX_TYPETRAITS_H
#define THRUM_COMPAT_MG_BOX_TYPETRAITS_H

#include <type_traits>

#include "mg/box/Definitions.h"

namespace mg {
namespace box {

template <typename Whole, typename Part> inline int64_t OffsetOf(const Part Whole::*member) {
    /* Only addresses are computed, in memory that is large enough for them to be valid. */
    alignas(Whole) static char memory[sizeof(Whole)];
    const Whole *whole = reinterpret_cast<const Whole *>(memory);
    return reinterpret_cast<const char *>(&(whole->*member)) - memory;
}

template <typename Whole, typename Part>
inline const Whole *ContainerOf(const Part *part, const Part Whole::*member) {
    return reinterpret_cast<const Whole *>(reinterpret_cast<const char *>(part) - OffsetOf(member));
}

template <typename Whole, typename Part>
inline Whole *ContainerOf(Part *part, const Part Whole::*member) {
    return reinterpret_cast<Whole *>(reinterpret_cast<char *>(part) - OffsetOf(member));
}

} // namespace box
} // namespace mg

#endif
