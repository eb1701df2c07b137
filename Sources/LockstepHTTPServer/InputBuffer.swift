/// What came from a client and isn't used yet. Empty, it holds no memory.
struct InputBuffer {
  private var bytes: [UInt8] = []
  private var used = 0

  var isEmpty: Bool { used == bytes.count }
  var count: Int { bytes.count - used }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if used > 0 {
      // What is left is less than a request; moving it keeps the buffer from growing with every request.
      bytes.removeFirst(used)
      used = 0
    }
    bytes.append(contentsOf: more)
  }

  mutating func removeFirst(_ count: Int) {
    used += count
    guard used == bytes.count else { return }
    bytes = []
    used = 0
  }

  /// The unused bytes, only for as long as `body` runs.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Swift.Result<Result, Failure>?
    bytes.withUnsafeBytes { all in
      do throws(Failure) {
        result = .success(try body(UnsafeRawBufferPointer(rebasing: all[used...])))
      } catch {
        result = .failure(error)
      }
    }
    return try result.unsafelyUnwrapped.get()
  }
}
