/// Parses one value. It keeps a list of open containers instead of recursing, and collects their
/// children on two stacks, so that each array is allocated once. `bytes` must stay valid as long as
/// the parser lives. Each read checks `position < count` first.
struct JSONParser: ~Copyable {
  private struct Container {
    /// The number of values on the stack when the container was opened.
    var firstValue: Int
    /// The number of names on the stack at that time, or -1 for an array.
    var firstName: Int
    var isObject: Bool { firstName >= 0 }
  }

  let bytes: UnsafePointer<UInt8>
  let count: Int
  var position = 0
  /// A buffer for strings with escapes.
  var unescaped: [UInt8] = []

  private let maximumDepth: Int
  private var containers: [Container] = []
  private var values = MovableStack<JSON>()
  private var names = MovableStack<ParsedName>()

  init(_ bytes: UnsafePointer<UInt8>, count: Int, maximumDepth: Int) {
    self.bytes = bytes
    self.count = count
    self.maximumDepth = maximumDepth
  }

  mutating func parseText() throws(ParseFault) -> JSON {
    try refuseByteOrderMark()
    skipWhitespace()
    guard position < count else { throw fault(.emptyText) }
    let value = try parseValue()
    skipWhitespace()
    guard position == count else { throw fault(.trailingContent) }
    return value
  }

  private func refuseByteOrderMark() throws(ParseFault) {
    guard count >= 2 else { return }
    let isUTF8Mark = count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    let isUTF16Mark = (bytes[0] == 0xFE && bytes[1] == 0xFF) || (bytes[0] == 0xFF && bytes[1] == 0xFE)
    if isUTF8Mark || isUTF16Mark { throw ParseFault(problem: .byteOrderMark, offset: 0) }
  }

  private mutating func parseValue() throws(ParseFault) -> JSON {
    var missing = ParseProblem.missingValue
    while true {
      guard position < count else { throw fault(missing) }
      switch bytes[position] {
      case Ascii.quote:
        values.append(.string(try parseString()))
      case Ascii.openBrace:
        try open(isObject: true)
        if try closeIfEmpty(Ascii.closeBrace) { break }
        try parseName(orElse: .missingNameOrBrace)
        missing = .missingValue
        continue
      case Ascii.openBracket:
        try open(isObject: false)
        if try closeIfEmpty(Ascii.closeBracket) { break }
        missing = .missingValue
        continue
      case Ascii.minus, Ascii.zero...Ascii.nine:
        values.append(try parseNumber())
      default:
        values.append(try parseLiteral(orElse: missing))
      }
      // A value is complete, and perhaps its containers too.
      guard let next = try finishValue() else { return values.removeLast() }
      missing = next
    }
  }

  /// Closes containers, or skips the comma before the next value. Returns the problem if no value
  /// follows, or nil if the outermost value is complete.
  private mutating func finishValue() throws(ParseFault) -> ParseProblem? {
    while let container = containers.last {
      skipWhitespace()
      let byte = position < count ? bytes[position] : 0
      if byte == Ascii.comma {
        position &+= 1
        skipWhitespace()
        guard container.isObject else { return .missingValueAfterComma }
        try parseName(orElse: .missingNameAfterComma)
        return .missingValue
      }
      guard byte == (container.isObject ? Ascii.closeBrace : Ascii.closeBracket) else {
        throw fault(container.isObject ? .missingCommaOrBrace : .missingCommaOrBracket)
      }
      position &+= 1
      close(container)
    }
    return nil
  }

  private mutating func open(isObject: Bool) throws(ParseFault) {
    guard containers.count < maximumDepth else { throw fault(.tooDeep(limit: maximumDepth)) }
    if containers.isEmpty { containers.reserveCapacity(8) }
    containers.append(Container(firstValue: values.count, firstName: isObject ? names.count : -1))
    position &+= 1
    skipWhitespace()
  }

  private mutating func closeIfEmpty(_ closing: UInt8) throws(ParseFault) -> Bool {
    guard position < count, bytes[position] == closing else { return false }
    position &+= 1
    close(containers[containers.count - 1])
    return true
  }

  /// Replaces the children on the stacks with their container.
  private mutating func close(_ container: Container) {
    containers.removeLast()
    if container.isObject {
      values.append(.object(takeObject(container)))
    } else {
      values.append(.array(values.moveTail(from: container.firstValue)))
    }
  }

  private mutating func takeObject(_ container: Container) -> JSONObject {
    // See `moveTail`: the shared empty array must not be written.
    guard names.count > container.firstName else { return JSONObject() }
    let mayRepeatNames = mayRepeatNames(from: container.firstName)
    let members = names.takeTail(from: container.firstName) { names in
      values.takeTail(from: container.firstValue) { values in
        [JSONObject.Member](unsafeUninitializedCapacity: names.count) { members, initialized in
          // The two stacks grow in turn, so each name has a value. All elements are moved out.
          for place in 0..<names.count {
            let name = names.moveElement(from: place)
            members.initializeElement(
              at: place,
              to: JSONObject.Member(name: name.string, value: values.moveElement(from: place))
            )
          }
          initialized = names.count
        }
      }
    }
    return mayRepeatNames ? JSONObject(repeatable: members) : JSONObject(unrepeated: members)
  }

  /// Whether an object has many names, or two with the same fingerprint.
  private func mayRepeatNames(from first: Int) -> Bool {
    guard names.count - first <= NameIndex.threshold else { return true }
    var later = first + 1
    while later < names.count {
      let fingerprint = names[later].fingerprint
      for earlier in first..<later where names[earlier].fingerprint == fingerprint { return true }
      later &+= 1
    }
    return false
  }

  private mutating func parseName(orElse missing: ParseProblem) throws(ParseFault) {
    guard position < count, bytes[position] == Ascii.quote else { throw fault(missing) }
    names.append(try parseNameString())
    skipWhitespace()
    guard position < count, bytes[position] == Ascii.colon else { throw fault(.missingColon) }
    position &+= 1
    skipWhitespace()
  }

  @inline(__always)
  mutating func skipWhitespace() {
    while position < count {
      switch bytes[position] {
      case Ascii.space, Ascii.lineFeed, Ascii.carriageReturn, Ascii.tab: position &+= 1
      default: return
      }
    }
  }

  @inline(__always)
  func fault(_ problem: ParseProblem) -> ParseFault {
    ParseFault(problem: problem, offset: position)
  }
}
