/// Somewhere that JSON text can be written to.
protocol ByteSink: ~Copyable {
  mutating func append(_ byte: UInt8)
  /// Appends a copy of the bytes.
  mutating func append(bytes: UnsafeBufferPointer<UInt8>)
}

extension [UInt8]: ByteSink {
  @inline(__always)
  mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
    append(contentsOf: bytes)
  }
}

/// Bytes that grow, without an array's checks at every single one.
///
/// The memory belongs to the buffer alone (it is not copyable), and every write makes room first;
/// that is what makes the pointer right.
struct JSONOutputBuffer: ByteSink, ~Copyable {
  private var base: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int) {
    self.capacity = max(64, capacity)
    base = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
  }

  deinit {
    base.deallocate()
  }

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

  /// Runs the body with what has been written, which is valid only while it runs.
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
