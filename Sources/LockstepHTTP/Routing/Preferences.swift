extension RequestHead {
  /// The preferences in `Prefer`, in order, without their parameters (RFC 7240, 2). A name is in
  /// lowercase. A value is without its quotes, and empty if there is none.
  package var preferences: [(name: String, value: String)] {
    guard has(.prefer) else { return [] }
    return list(.prefer).map { element in
      let preference = element.parts(separatedBy: ";")[0]
      guard let sign = preference.utf8.firstIndex(of: UInt8(ascii: "=")) else {
        return (preference.trimmingSpaces().lowercased(), "")
      }
      let name = preference[..<sign].trimmingSpaces().lowercased()
      return (name, preference[preference.utf8.index(after: sign)...].trimmingSpaces().unquoted)
    }
  }
}

extension Substring {
  /// The text of a quoted string (RFC 9110, 5.6.4); the same text if it is no such string.
  fileprivate var unquoted: String {
    guard utf8.count >= 2, utf8.first == UInt8(ascii: "\""), utf8.last == UInt8(ascii: "\"") else {
      return String(self)
    }
    var text: [UInt8] = []
    var isEscaped = false
    for byte in utf8.dropFirst().dropLast() {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
      } else {
        text.append(byte)
        isEscaped = false
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
