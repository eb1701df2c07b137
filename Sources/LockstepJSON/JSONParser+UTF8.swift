extension JSONParser {
  /// The index of the first byte that is not valid UTF-8 by Unicode's table 3-7 (no overlong forms,
  /// no surrogates, nothing above U+10FFFF), or nil.
  ///
  /// - Precondition: `0 <= start <= end <= count`.
  func firstInvalidUTF8(from start: Int, to end: Int) -> Int? {
    var place = start
    while place < end {
      if place &+ 8 <= end, loadWord(bytes + place) & 0x8080_8080_8080_8080 == 0 {
        place &+= 8
        continue
      }
      let length = lengthOfScalar(at: place, end: end)
      if length == 0 { return place }
      place &+= length
    }
    return nil
  }

  /// The number of bytes of the scalar at an index, or 0 if the bytes are invalid.
  @inline(__always)
  private func lengthOfScalar(at place: Int, end: Int) -> Int {
    let lead = bytes[place]
    if lead < 0x80 { return 1 }
    let left = end &- place
    switch lead {
    case 0xC2...0xDF:
      return left >= 2 && isContinuation(place &+ 1) ? 2 : 0
    case 0xE0...0xEF:
      guard left >= 3, isContinuation(place &+ 1), isContinuation(place &+ 2) else { return 0 }
      let second = bytes[place &+ 1]
      let isOverlong = lead == 0xE0 && second < 0xA0
      let isSurrogate = lead == 0xED && second > 0x9F
      return isOverlong || isSurrogate ? 0 : 3
    case 0xF0...0xF4:
      guard left >= 4, isContinuation(place &+ 1), isContinuation(place &+ 2), isContinuation(place &+ 3)
      else { return 0 }
      let second = bytes[place &+ 1]
      let isOverlong = lead == 0xF0 && second < 0x90
      let isTooLarge = lead == 0xF4 && second > 0x8F
      return isOverlong || isTooLarge ? 0 : 4
    default: return 0
    }
  }

  /// - Precondition: `place` is below `count`.
  @inline(__always)
  private func isContinuation(_ place: Int) -> Bool { bytes[place] & 0xC0 == 0x80 }
}
