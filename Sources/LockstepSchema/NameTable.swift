/// A fixed set of names, each with its place, that finds a name by its UTF-8 bytes.
///
/// The hash has a random seed, so an attacker cannot choose names that collide.
struct NameTable: Sendable {
  private static let free: Int32 = -1

  let names: [String]
  private let keys: [NameKey]
  /// Each is the place of a name, or `free`. The count is a power of two, and at least twice the count
  /// of names.
  private var slots: [Int32]
  private let seed = UInt64.random(in: .min ... .max)
  /// Longer names are not in the table.
  private let longest: Int

  /// If a name is repeated, its first place counts.
  init(_ names: [String]) {
    self.names = names
    keys = names.map { name in withBytes(of: name) { NameKey($0) } }
    var slotCount = 4
    while slotCount < names.count * 2 { slotCount *= 2 }
    slots = Array(repeating: Self.free, count: slotCount)
    longest = names.map(\.utf8.count).max() ?? -1
    for (place, name) in names.enumerated() where self.place(of: name) == nil {
      var slot = withBytes(of: name) { firstSlot(for: keys[place], $0) }
      while slots[slot] != Self.free { slot = (slot + 1) & (slotCount - 1) }
      slots[slot] = Int32(place)
    }
  }

  @inline(__always)
  func place(of name: String) -> Int? {
    guard name.utf8.count <= longest else { return nil }
    return withBytes(of: name) { place(of: $0) }
  }

  @inline(__always)
  private func place(of name: UnsafeBufferPointer<UInt8>) -> Int? {
    let key = NameKey(name)
    var slot = firstSlot(for: key, name)
    while slots[slot] != Self.free {
      let place = Int(slots[slot])
      if keys[place] == key, key.isWhole || hasMiddle(name, of: names[place]) { return place }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  @inline(__always)
  private func firstSlot(for key: NameKey, _ name: UnsafeBufferPointer<UInt8>) -> Int {
    var hash = fold(key.first ^ seed) ^ fold(key.last ^ seed ^ UInt64(key.count))
    if !key.isWhole { hash ^= hashOfMiddle(name) }
    return Int(truncatingIfNeeded: hash) & (slots.count - 1)
  }

  /// A hash of the bytes that the key of a long name does not contain.
  @inline(never)
  private func hashOfMiddle(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash = seed
    for place in stride(from: 8, to: name.count - 8, by: 8) { hash = fold(hash ^ word(in: name, at: place)) }
    return hash
  }

  /// Whether two long names with the same key have the same bytes.
  @inline(never)
  private func hasMiddle(_ name: UnsafeBufferPointer<UInt8>, of other: String) -> Bool {
    withBytes(of: other) { other in
      stride(from: 8, to: name.count - 8, by: 8).allSatisfy { word(in: name, at: $0) == word(in: other, at: $0) }
    }
  }
}

/// The first eight and the last eight bytes of a name.
private struct NameKey: Equatable {
  let count: Int
  let first: UInt64
  let last: UInt64

  /// Whether the key contains all bytes of the name.
  @inline(__always)
  var isWhole: Bool { count <= 16 }

  @inline(__always)
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    count = bytes.count
    if count >= 8 {
      (first, last) = (word(in: bytes, at: 0), word(in: bytes, at: count - 8))
    } else {
      last = 0
      if count >= 4 {
        first = UInt64(halfWord(in: bytes, at: 0)) << 32 | UInt64(halfWord(in: bytes, at: count - 4))
      } else if count > 0 {
        first = UInt64(bytes[0]) << 16 | UInt64(bytes[count / 2]) << 8 | UInt64(bytes[count - 1])
      } else {
        first = 0
      }
    }
  }
}

@inline(__always)
private func fold(_ word: UInt64) -> UInt64 {
  let product = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
  return product.high ^ product.low
}

/// - Precondition: Eight bytes can be read at the place.
@inline(__always)
private func word(in bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> UInt64 {
  UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: place, as: UInt64.self)
}

/// - Precondition: Four bytes can be read at the place.
@inline(__always)
private func halfWord(in bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> UInt32 {
  UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: place, as: UInt32.self)
}

/// Calls the body with the UTF-8 bytes of a string, which stay valid during the call.
@inline(__always)
func withBytes<Result>(of string: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
  if let result = string.utf8.withContiguousStorageIfAvailable(body) { return result }
  // Only strings from another runtime (Objective-C) are not contiguous.
  var copy = string
  return copy.withUTF8(body)
}
