protocol ByteSink: ~Copyable {
  mutating func append(_ byte: UInt8)
  mutating func append(bytes: UnsafeBufferPointer<UInt8>)
}

extension [UInt8]: ByteSink {
  @inline(__always)
  mutating func append(bytes: UnsafeBufferPointer<UInt8>) { append(contentsOf: bytes) }
}

/// A growing buffer without an array's checks for each byte.
///
/// The pointer is safe: the buffer cannot be copied, so it alone owns the memory, and each write
/// makes room first.
struct JSONOutputBuffer: ByteSink, ~Copyable {
  private var base = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
  private var capacity = 512
  private(set) var count = 0

  deinit { base.deallocate() }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    if count == capacity { grow(by: 1) }
    base[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    if capacity &- count < bytes.count { grow(by: bytes.count) }
    (base + count).update(from: source, count: bytes.count)
    count &+= bytes.count
  }

  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    body(UnsafeBufferPointer(start: base, count: count))
  }

  private mutating func grow(by more: Int) {
    let newCapacity = max(capacity * 2, count + more)
    let newBase = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
    newBase.update(from: base, count: count)
    base.deallocate()
    base = newBase
    capacity = newCapacity
  }
}
