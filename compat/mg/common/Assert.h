/*
 * The assertions of mg/box/Assert.h under their older names.
 */
#ifndef THRUM_COMPAT_MG_COMMON_ASSERT_H
#define THRUM_COMPAT_MG_COMMON_ASSERT_H

#include "mg/box/Assert.h"
#include "mg/common/Types.h"

#define MG_COMMON_ASSERT MG_BOX_ASSERT
#define MG_COMMON_ASSERT_F MG_BOX_ASSERT_F

namespace mg {
namespace common {

using box::AssertF;
using box::AssertS;

} // namespace common
} // namespace mg

#endif
