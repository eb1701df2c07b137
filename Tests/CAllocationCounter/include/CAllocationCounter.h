#pragma once

/// The bytes that this thread has requested from the C library's allocator so far. It stays 0 under
/// a sanitizer, which has an allocator of its own.
unsigned long allocated_bytes(void);
