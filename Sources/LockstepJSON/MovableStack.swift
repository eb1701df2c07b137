/// A stack whose top elements can be moved out into an array of exactly their count, with neither
/// a copy nor a reference count touched. The parser gathers the children of all open containers on it.
///
/// The memory belongs to the stack alone (it is not copyable), the first `count` places are initialized
/// and no others, and every change keeps that so; that is what makes the pointer right.
struct MovableStack<Element>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private var capacity: Int
  private(set) var count = 0

  init() {
    capacity = 16
    base = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
  }

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

  /// Reads an element, which must be one of the first `count`.
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

  /// Moves out everything from a place up.
  mutating func moveTail(from start: Int) -> [Element] {
    precondition(start >= 0 && start <= count)
    let moved = count - start
    count = start
    // An empty array would be the one that all share, and to write its count, even the zero that it is, would be a race.
    guard moved > 0 else { return [] }
    let source = base + start
    return [Element](unsafeUninitializedCapacity: moved) { buffer, initialized in
      buffer.baseAddress?.moveInitialize(from: source, count: moved)
      initialized = moved
    }
  }

  /// Gives the body the elements from a place up, which it must move out, all of them.
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
