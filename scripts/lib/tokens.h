// Ids and tokens for the programs that fill stores for benchmarks.
#include <CLockstepSodium/sodium_header.h>
#include <stdio.h>
#include <stdlib.h>

// Writes a UUIDv7 that contains this kind and this number.
static void write_id(char *text, int kind, int number) {
  sprintf(text, "0190a000-0000-7%03x-8000-%012x", kind, number);
}

// Makes a token as the server does, prints it, and returns the hash for the store.
static void make_token(lockstep_bits256 key, uint8_t hash[32]) {
  lockstep_bits256 secret;
  randombytes_buf(&secret, sizeof secret);
  // Without digits of the user, so that older versions can be measured too.
  lockstep_digits digits = {0, 0};
  lockstep_bits128 tag = lockstep_tag(secret, digits, key);
  lockstep_bits384 all = {{secret.words[0], secret.words[1], secret.words[2], secret.words[3], tag.words[0], tag.words[1]}};
  uint8_t bytes[48];
  char text[65];
  lockstep_store(bytes, all.words, 6);
  sodium_bin2base64(text, sizeof text, bytes, sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  printf("ls_%s\n", text);
  lockstep_store(hash, lockstep_digest(all, digits).words, 4);
}
