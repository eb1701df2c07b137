extension TimeZoneRules {
  /// Parses a TZif file of versions 1 to 4 (RFC 8536, RFC 9636). Files with leap seconds are
  /// rejected, because Lockstep's timestamps have none.
  init(parsing bytes: [UInt8]) throws(TimeZoneError) {
    var reader = BigEndianReader(bytes)
    var header = try Header(&reader)
    guard header.version >= UInt8(ascii: "2") else {
      self = try Self(header, ofBytes: 4, &reader, hasRule: false)
      return
    }
    // Skips the part with 32-bit times. A part with 64-bit times and the rule follow.
    _ = try reader.bytes(header.size(ofTimes: 4))
    header = try Header(&reader)
    self = try Self(header, ofBytes: 8, &reader, hasRule: true)
  }

  private init(
    _ header: Header,
    ofBytes count: Int,
    _ reader: inout BigEndianReader,
    hasRule: Bool
  ) throws(TimeZoneError) {
    guard header.leapSeconds == 0 else { throw TimeZoneError("The file counts leap seconds.") }
    var times: [Int64] = []
    for _ in 0..<header.transitions {
      let time = try reader.integer(ofBytes: count)
      if let last = times.last, time <= last { throw TimeZoneError("The file's transitions are not in order.") }
      times.append(time)
    }
    let types = try reader.bytes(header.transitions)
    let offsets = try Self.offsets(header.types, &reader)
    // Abbreviations and indicators are not needed.
    _ = try reader.bytes(header.abbreviationBytes + header.standardIndicators + header.universalIndicators)
    transitions = try zip(times, types).map { (time, type) throws(TimeZoneError) in
      guard offsets.indices.contains(Int(type)) else { throw TimeZoneError("The file refers to a missing type.") }
      return Transition(time: time, offset: offsets[Int(type)])
    }
    first = offsets[0]
    rule = hasRule ? try Self.rule(reader.remainder) : nil
  }

  /// The offsets of the local time types, at least one.
  private static func offsets(_ count: Int, _ reader: inout BigEndianReader) throws(TimeZoneError) -> [Int] {
    guard count > 0 else { throw TimeZoneError("The file has no local time type.") }
    var offsets: [Int] = []
    for _ in 0..<count {
      let offset = Int(try reader.integer(ofBytes: 4))
      // Between -25 and 26 hours, exclusive (RFC 9636, 3.2).
      guard (-89_999...93_599).contains(offset) else { throw TimeZoneError("The file has an invalid offset.") }
      _ = try reader.bytes(2)
      offsets.append(offset)
    }
    return offsets
  }

  /// The rule between two line feeds at the end, if there is one.
  private static func rule(_ footer: ArraySlice<UInt8>) throws(TimeZoneError) -> RecurringRule? {
    let lineFeed = UInt8(ascii: "\n")
    let text = footer.dropFirst().prefix { $0 != lineFeed }
    guard footer.first == lineFeed, footer.count >= text.count + 2 else {
      throw TimeZoneError("The file has no rule at its end.")
    }
    return text.isEmpty ? nil : try RecurringRule(parsing: text)
  }

  private struct Header {
    let version: UInt8
    let universalIndicators: Int
    let standardIndicators: Int
    let leapSeconds: Int
    let transitions: Int
    let types: Int
    let abbreviationBytes: Int

    init(_ reader: inout BigEndianReader) throws(TimeZoneError) {
      guard try reader.bytes(4).elementsEqual("TZif".utf8) else { throw TimeZoneError("The file is not a TZif file.") }
      version = try reader.bytes(1).first ?? 0
      // Later versions are compatible with version 2.
      guard version == 0 || (UInt8(ascii: "2")...UInt8(ascii: "9")).contains(version) else {
        throw TimeZoneError("The file has an unknown version.")
      }
      _ = try reader.bytes(15)
      universalIndicators = try reader.count()
      standardIndicators = try reader.count()
      leapSeconds = try reader.count()
      transitions = try reader.count()
      types = try reader.count()
      abbreviationBytes = try reader.count()
    }

    /// The size of the data after the header, with times of `bytes` bytes.
    func size(ofTimes bytes: Int) -> Int {
      transitions * (bytes + 1) + types * 6 + abbreviationBytes + leapSeconds * (bytes + 4) + standardIndicators
        + universalIndicators
    }
  }
}
