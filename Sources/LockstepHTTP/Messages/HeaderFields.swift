/// The header fields of a response, kept as the bytes that go over the wire.
///
/// A block made once can be sent any number of times for the price of a copy. This is the only place where outgoing
/// field values are checked: a byte that could end a field early never gets in.
public struct HeaderFields: Sendable, Equatable {
  private(set) var bytes: [UInt8] = []

  /// No fields.
  public init() {}

  /// Whether there are none.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Adds a field. Control characters in the value (CR, LF and NUL among them) are replaced by spaces, so a value that
  /// came from outside can't add a field or end the head. The fields that frame a message are the engine's alone
  /// (`FieldName.isEngines`) and aren't added: two lengths of one body would be the smuggler's door.
  @inlinable
  public mutating func append(_ name: FieldName, _ value: some StringProtocol) {
    append(name, text: String(value))
  }

  @usableFromInline
  mutating func append(_ name: FieldName, text: String) {
    guard !name.isEngines else { return }
    // Room for the few fields that an answer has, at once.
    if bytes.isEmpty { bytes.reserveCapacity(256) }
    bytes.append(contentsOf: name.literal.bytes)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(UInt8(ascii: " "))
    let start = bytes.count
    // Nearly every string lies in one piece, and copying that is much quicker than taking its bytes one by one.
    let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
    if isCopied == nil { bytes.append(contentsOf: text.utf8) }
    for index in start..<bytes.count where !bytes[index].isFieldValueByte { bytes[index] = UInt8(ascii: " ") }
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The fields as they go over the wire, to be kept.
  public var encoded: [UInt8] { bytes }

  /// Fields that were kept as `encoded`.
  public init(kept encoded: [UInt8]) { bytes = encoded }

  /// Adds all fields of another block.
  public mutating func append(contentsOf other: HeaderFields) {
    bytes.append(contentsOf: other.bytes)
  }

  /// The same fields with one value in the place of all that the field had.
  public func replacing(_ name: FieldName, _ value: some StringProtocol) -> HeaderFields {
    var fields = HeaderFields()
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let old = line.prefix { $0 != UInt8(ascii: ":") }
      let isReplaced = old.elementsEqual(name.text.utf8) { $0.lowercased == $1.lowercased }
      if !isReplaced { fields.bytes += line + [UInt8(ascii: "\n")] }
    }
    fields.append(name, value)
    return fields
  }

  /// The value of the first field of that name, or nil.
  public subscript(_ name: FieldName) -> String? {
    for (field, value) in all where field.utf8.elementsEqual(name.text.utf8, by: { $0.lowercased == $1.lowercased }) {
      return value
    }
    return nil
  }

  /// Every field, in order.
  public var all: [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "\n")).map { line in
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
      return (
        String(decoding: line[..<colon], as: UTF8.self),
        String(decoding: line[colon...].dropFirst(2).dropLast(), as: UTF8.self)
      )
    }
  }
}
