/// The parameters of one statement, as libpq takes them.
struct Parameters {
  /// The largest number of parameters of a statement, a limit of the protocol.
  static let limit = 65_535

  /// All values, one after the other. Texts end with a zero byte.
  private var bytes: [UInt8] = []
  /// Where each value begins; nil for NULL.
  private var offsets: [Int?] = []
  private var lengths: [Int32] = []
  /// 0 for text, 1 for binary.
  private var formats: [Int32] = []
  private(set) var types: [UInt32] = []

  var count: Int { types.count }

  /// - Throws: An error of the kind `mismatch` for a value that PostgreSQL cannot take.
  init(_ values: [PostgreSQLValue], sql: String, statementIndex: Int) throws(PostgreSQLError) {
    func refuse(_ message: String) -> PostgreSQLError {
      PostgreSQLError(
        kind: .mismatch,
        message: message,
        operation: .run(sql: sql),
        statementIndex: statementIndex
      )
    }
    guard values.count <= Self.limit else {
      throw refuse("it has \(values.count) parameters, and PostgreSQL allows \(Self.limit)")
    }
    offsets.reserveCapacity(values.count)
    lengths.reserveCapacity(values.count)
    formats.reserveCapacity(values.count)
    types.reserveCapacity(values.count)
    for (index, value) in values.enumerated() {
      let start = bytes.count
      var (type, format): (UInt32, Int32) = (0, 0)
      do throws(UnstorableText) {
        (type, format) = try append(value)
      } catch {
        throw refuse("the parameter $\(index + 1) contains the character U+0000, which PostgreSQL cannot store")
      }
      let length = bytes.count - start
      guard let length = Int32(exactly: length) else {
        throw refuse("the parameter $\(index + 1) has \(length) bytes, and PostgreSQL allows 1 GB")
      }
      offsets.append(value == .null ? nil : start)
      lengths.append(length)
      formats.append(format)
      types.append(type)
    }
  }

  /// Calls `body` with the arrays that libpq takes. They are valid until `body` returns.
  func withPointers<Result>(
    _ body: (
      _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
      _ formats: UnsafePointer<Int32>?
    ) -> Result
  ) -> Result {
    bytes.withUnsafeBytes { bytes in
      // A value of no bytes may lie at the end of `bytes`. libpq does not read it, but its pointer
      // must not be null, because null means NULL.
      let empty: StaticString = ""
      let values = offsets.map { offset -> UnsafePointer<CChar>? in
        offset.map { offset in
          guard let start = bytes.baseAddress else {
            return UnsafeRawPointer(empty.utf8Start).assumingMemoryBound(to: CChar.self)
          }
          return (start + offset).assumingMemoryBound(to: CChar.self)
        }
      }
      return values.withUnsafeBufferPointer { values in
        lengths.withUnsafeBufferPointer { lengths in
          formats.withUnsafeBufferPointer { formats in
            body(values.baseAddress, lengths.baseAddress, formats.baseAddress)
          }
        }
      }
    }
  }

  private struct UnstorableText: Error {}

  /// Appends a value and returns its type and its format.
  private mutating func append(_ value: PostgreSQLValue) throws(UnstorableText) -> (UInt32, Int32) {
    switch value {
    case .null: return (0, 0)
    case .integer(let integer): appendText(String(integer))
    case .real(let real): appendText(real.isNaN ? "NaN" : String(real))
    case .text(let text):
      guard !text.utf8.contains(0) else { throw UnstorableText() }
      appendText(text)
    case .bytes(let value):
      bytes += value
      return (TypeNumber.bytea, 1)
    case .uuid(let high, let low):
      append(high)
      append(low)
      return (TypeNumber.uuid, 1)
    case .integers(let elements): return appendArray(TypeNumber.int8Array, elements) { $0.append($1) }
    case .optionalIntegers(let elements): return appendArray(TypeNumber.int8Array, elements) { $0.append($1) }
    case .texts(let elements): return try appendTexts(elements)
    case .optionalTexts(let elements): return try appendTexts(elements)
    case .byteStrings(let elements): return appendArray(TypeNumber.byteaArray, elements) { $0.bytes += $1 }
    case .optionalByteStrings(let elements): return appendArray(TypeNumber.byteaArray, elements) { $0.bytes += $1 }
    case .uuids(let elements): return appendUUIDs(elements)
    case .optionalUUIDs(let elements): return appendUUIDs(elements)
    }
    return (0, 0)
  }

  private mutating func appendText(_ text: String) {
    bytes += text.utf8
    bytes.append(0)
  }

  /// Appends a number with its highest byte first, as PostgreSQL's binary format has all numbers.
  private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
  }

  private mutating func appendTexts(_ elements: [String?]) throws(UnstorableText) -> (UInt32, Int32) {
    guard !elements.contains(where: { $0?.utf8.contains(0) ?? false }) else { throw UnstorableText() }
    return appendArray(TypeNumber.textArray, elements) { $0.bytes += $1.utf8 }
  }

  private mutating func appendUUIDs(_ elements: [PostgreSQLUUID?]) -> (UInt32, Int32) {
    appendArray(TypeNumber.uuidArray, elements) { parameters, uuid in
      parameters.append(uuid.high)
      parameters.append(uuid.low)
    }
  }

  /// Appends an array of one dimension, or of none if it is empty.
  private mutating func appendArray<Element>(
    _ type: UInt32,
    _ elements: [Element?],
    _ appendElement: (inout Parameters, Element) -> Void
  ) -> (UInt32, Int32) {
    let elementTypes = [
      TypeNumber.int8Array: TypeNumber.int8, TypeNumber.textArray: TypeNumber.text,
      TypeNumber.byteaArray: TypeNumber.bytea, TypeNumber.uuidArray: TypeNumber.uuid,
    ]
    append(Int32(elements.isEmpty ? 0 : 1))
    append(Int32(elements.contains { $0 == nil } ? 1 : 0))
    append(elementTypes[type] ?? 0)
    guard !elements.isEmpty else { return (type, 1) }
    append(Int32(clamping: elements.count))
    // The index of the first element.
    append(Int32(1))
    for element in elements {
      let lengthPlace = bytes.count
      append(Int32(-1))
      guard let element else { continue }
      appendElement(&self, element)
      let length = UInt32(clamping: bytes.count - lengthPlace - 4)
      for byte in 0..<4 { bytes[lengthPlace + byte] = UInt8(truncatingIfNeeded: length >> (24 - 8 * byte)) }
    }
    return (type, 1)
  }
}
