/*
 * values.h: words of 1, 2, 4 and 8 bytes, read, written and computed with.
 */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H

#include "engine.h"

static inline uint64_t raw_read(const void *addr, unsigned size) {
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)addr;
    case 2:
        return *(const volatile uint16_t *)addr;
    case 4:
        return *(const volatile uint32_t *)addr;
    default:
        return *(const volatile uint64_t *)addr;
    }
}

static inline void raw_write(void *addr, unsigned size, uint64_t value) {
    switch (size) {
    case 1:
        *(volatile uint8_t *)addr = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)addr = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)addr = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)addr = value;
        break;
    }
}

static inline uint64_t cut(uint64_t value, unsigned size) {
    return size >= 8 ? value : value & ((1ull << (8 * size)) - 1);
}

static inline uint64_t apply(rmw_op op, uint64_t old, uint64_t operand) {
    switch (op) {
    case RMW_XCHG:
        return operand;
    case RMW_ADD:
        return old + operand;
    case RMW_SUB:
        return old - operand;
    case RMW_AND:
        return old & operand;
    case RMW_OR:
        return old | operand;
    case RMW_XOR:
        return old ^ operand;
    default:
        return ~(old & operand);
    }
}

#endif
