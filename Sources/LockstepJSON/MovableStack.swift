/// A stack whose top elements can be moved into an array without copies and reference counting.
///
/// The pointer is safe: the stack cannot be copied, so it alone owns the memory, and exactly the
/// first `count` elements are initialized.
struct MovableStack<Element>: ~Copyable {
  private var base = UnsafeMutablePointer<Element>.allocate(capacity: 16)
  private var capacity = 16
  private(set) var count = 0

  deinit {
    base.deinitialize(count: count)
    base.deallocate()
  }

  @inline(__always)
  mutating func append(_ element: consuming Element) {
    if count == capacity { grow() }
    (base + count).initialize(to: element)
    count &+= 1
  }

  subscript(place: Int) -> Element {
    @inline(__always) get {
      precondition(place >= 0 && place < count)
      return base[place]
    }
  }

  mutating func removeLast() -> Element {
    precondition(count > 0)
    count &-= 1
    return (base + count).move()
  }

  mutating func moveTail(from start: Int) -> [Element] {
    precondition(start >= 0 && start <= count)
    let moved = count - start
    count = start
    // All empty arrays share one buffer. Writing its count, even the same zero, would be a race.
    guard moved > 0 else { return [] }
    let source = base + start
    return [Element](unsafeUninitializedCapacity: moved) { buffer, initialized in
      buffer.baseAddress?.moveInitialize(from: source, count: moved)
      initialized = moved
    }
  }

  /// Passes all elements from `start` to `body`, which must move them out.
  mutating func takeTail<Result>(
    from start: Int,
    _ body: (UnsafeMutableBufferPointer<Element>) -> Result
  ) -> Result {
    precondition(start >= 0 && start <= count)
    let tail = UnsafeMutableBufferPointer(start: base + start, count: count - start)
    count = start
    return body(tail)
  }

  private mutating func grow() {
    let newCapacity = capacity * 2
    let newBase = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
    newBase.moveInitialize(from: base, count: count)
    base.deallocate()
    base = newBase
    capacity = newCapacity
  }
}
