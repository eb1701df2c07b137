// libsodium, with some calls that pass whole values instead of pointers. So Swift neither allocates
// memory nor uses unsafe pointers for them.
#ifndef LOCKSTEP_CSODIUM_H
#define LOCKSTEP_CSODIUM_H

#include <sodium.h>
#include <stdint.h>
#include <string.h>

// 128, 256 and 384 bits as words, least significant byte first.
typedef struct { uint64_t words[2]; } lockstep_bits128;
typedef struct { uint64_t words[4]; } lockstep_bits256;
typedef struct { uint64_t words[6]; } lockstep_bits384;

static inline void lockstep_store(uint8_t *bytes, const uint64_t *words, int count) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 8; k++) bytes[8 * i + k] = (uint8_t)(words[i] >> (56 - 8 * k));
}

static inline void lockstep_load(uint64_t *words, const uint8_t *bytes, int count) {
  for (int i = 0; i < count; i++) {
    words[i] = 0;
    for (int k = 0; k < 8; k++) words[i] = words[i] << 8 | bytes[8 * i + k];
  }
}

// The digits of a user in a token: 32 bits after the other input, or nothing.
typedef struct { uint32_t value; uint8_t exist; } lockstep_digits;

static inline int lockstep_store_digits(uint8_t *bytes, lockstep_digits digits) {
  if (!digits.exist) return 0;
  for (int k = 0; k < 4; k++) bytes[k] = (uint8_t)(digits.value >> (24 - 8 * k));
  return 4;
}

// BLAKE2b-256. It cannot fail with these lengths.
static inline lockstep_bits256 lockstep_digest(lockstep_bits384 input, lockstep_digits digits) {
  uint8_t bytes[52], digest[32];
  lockstep_bits256 result;
  lockstep_store(bytes, input.words, 6);
  int count = 48 + lockstep_store_digits(bytes + 48, digits);
  crypto_generichash(digest, sizeof digest, bytes, (size_t)count, NULL, 0);
  lockstep_load(result.words, digest, 4);
  return result;
}

// BLAKE2b-128 with a key of 256 bits. It cannot fail with these lengths.
static inline lockstep_bits128 lockstep_tag(lockstep_bits256 input, lockstep_digits digits, lockstep_bits256 key) {
  uint8_t bytes[36], secret[32], tag[16];
  lockstep_bits128 result;
  lockstep_store(bytes, input.words, 4);
  int count = 32 + lockstep_store_digits(bytes + 32, digits);
  lockstep_store(secret, key.words, 4);
  crypto_generichash(tag, sizeof tag, bytes, (size_t)count, secret, sizeof secret);
  lockstep_load(result.words, tag, 2);
  return result;
}

#endif
