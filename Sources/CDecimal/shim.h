#include <stdint.h>

/* The variant of the library whose functions take and return values, the rounding and a pointer for flags: 000. */
#define DECIMAL_CALL_BY_REFERENCE 0
#define DECIMAL_GLOBAL_ROUNDING 0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0
#include <bid_conf.h>
#include <bid_functions.h>

/* A decimal128 in the binary encoding. Plain numbers, so that an importer needs no view of the library's types. */
typedef struct {
    uint64_t low;
    uint64_t high;
} shim_decimal;

static inline BID_UINT128 shim_to_library(shim_decimal value) {
    BID_UINT128 result;
    result.w[0] = value.low;
    result.w[1] = value.high;
    return result;
}

static inline shim_decimal shim_from_library(BID_UINT128 value) {
    shim_decimal result = {value.w[0], value.w[1]};
    return result;
}

#define SHIM_BINARY(name, function)                                                  \
    static inline shim_decimal name(shim_decimal left, shim_decimal right) {         \
        _IDEC_flags flags = 0;                                                       \
        return shim_from_library(function(                                           \
            shim_to_library(left), shim_to_library(right), BID_ROUNDING_TO_NEAREST,  \
            &flags));                                                                \
    }

SHIM_BINARY(shim_decimal_add, bid128_add)
SHIM_BINARY(shim_decimal_subtract, bid128_sub)
SHIM_BINARY(shim_decimal_multiply, bid128_mul)
SHIM_BINARY(shim_decimal_divide, bid128_div)
/* The first operand with the exponent of the second; NaN if that takes more than 34 digits. */
SHIM_BINARY(shim_decimal_quantize, bid128_quantize)

/* The remainder of a division whose quotient is truncated. */
static inline shim_decimal shim_decimal_remainder(shim_decimal left, shim_decimal right) {
    _IDEC_flags flags = 0;
    return shim_from_library(bid128_fmod(shim_to_library(left), shim_to_library(right), &flags));
}

static inline shim_decimal shim_decimal_rounded(shim_decimal value) {
    _IDEC_flags flags = 0;
    return shim_from_library(bid128_round_integral_nearest_even(shim_to_library(value), &flags));
}

static inline int shim_decimal_is_less(shim_decimal left, shim_decimal right) {
    _IDEC_flags flags = 0;
    return bid128_quiet_less(shim_to_library(left), shim_to_library(right), &flags);
}

static inline int shim_decimal_is_equal(shim_decimal left, shim_decimal right) {
    _IDEC_flags flags = 0;
    return bid128_quiet_equal(shim_to_library(left), shim_to_library(right), &flags);
}

static inline shim_decimal shim_decimal_from_int(int64_t value) {
    return shim_from_library(bid128_from_int64(value));
}

static inline shim_decimal shim_decimal_from_double(double value) {
    _IDEC_flags flags = 0;
    return shim_from_library(binary64_to_bid128(value, BID_ROUNDING_TO_NEAREST, &flags));
}

static inline double shim_decimal_to_double(shim_decimal value) {
    _IDEC_flags flags = 0;
    return bid128_to_binary64(shim_to_library(value), BID_ROUNDING_TO_NEAREST, &flags);
}

/* A double that is not above a decimal, and whether both are equal. */
typedef struct {
    double value;
    int is_exact;
} shim_double_bound;

static inline shim_double_bound shim_decimal_floor_to_double(shim_decimal value) {
    _IDEC_flags flags = 0;
    shim_double_bound bound;
    bound.value = bid128_to_binary64(shim_to_library(value), BID_ROUNDING_DOWN, &flags);
    bound.is_exact = (flags & BID_INEXACT_EXCEPTION) == 0;
    return bound;
}

/* The largest int64 that is not above a decimal, and whether both are equal; is_inside is 0 if there is none. */
typedef struct {
    int64_t value;
    int is_exact;
    int is_inside;
} shim_int_bound;

static inline shim_int_bound shim_decimal_floor_to_int(shim_decimal value) {
    _IDEC_flags flags = 0;
    shim_int_bound bound;
    bound.value = bid128_to_int64_xfloor(shim_to_library(value), &flags);
    bound.is_exact = (flags & BID_INEXACT_EXCEPTION) == 0;
    bound.is_inside = (flags & BID_INVALID_EXCEPTION) == 0;
    return bound;
}

/* The text must be a number that the caller has checked. */
static inline shim_decimal shim_decimal_from_text(const char *text) {
    _IDEC_flags flags = 0;
    return shim_from_library(bid128_from_string((char *)text, BID_ROUNDING_TO_NEAREST, &flags));
}
