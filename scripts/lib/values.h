// The values of a user in a store for benchmarks, and the journal entry that has set them.
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_VALUE = 64 };

// Writes the JSON of a user's value.
static void write_value(char *text, int place, int user) {
  snprintf(text, LONGEST_VALUE, "\"value %d of %06d\"", place, user % 1000000);
}

// The JSON of the mutations that set a user's values. The next call overwrites it.
static const char *mutations(int values, int user) {
  static char *text;
  char value[LONGEST_VALUE];
  if (!text) text = malloc(3 + values * (LONGEST_VALUE + 80));
  char *end = text;
  *end++ = '[';
  for (int place = 0; place < values; place++) {
    write_value(value, place, user);
    end += sprintf(end, "%s{\"type\":\"set\",\"payload\":{\"key\":\"setting%d\",\"value\":%s}}", place ? "," : "", place, value);
  }
  sprintf(end, "]");
  return text;
}
