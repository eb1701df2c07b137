import LockstepTestSupport
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepTime

@Suite("Reading a compiled time zone", .timeLimit(.minutes(10)))
struct TimeZoneRulesTests {
  private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
  /// Two clock changes: to the second offset, and to the third.
  private static let changes: [(time: Int64, type: UInt8)] = [(-3_000_000_000, 1), (1_000_000_000, 2)]

  private func offsets(_ file: ZoneFile, _ times: [Int64]) throws -> [Int] {
    let rules = try TimeZoneRules(parsing: file.bytes)
    return times.map { rules.offset(at: $0) }
  }

  @Test(
    "Offsets are correct before, between and after the changes",
    arguments: [UInt8(ascii: "2"), UInt8(ascii: "3"), UInt8(ascii: "4")]
  )
  func changes(version: UInt8) throws {
    var file = ZoneFile(version: version, transitions: Self.changes, offsets: [-1_172, 3_600, 7_200])
    let times: [Int64] = [.min, -3_000_000_001, -3_000_000_000, 999_999_999, 1_000_000_000, 1_800_000_000, .max]
    #expect(try offsets(file, times) == [-1_172, -1_172, 3_600, 3_600, 7_200, 7_200, 7_200])
    file.footer = Self.berlin
    #expect(try offsets(file, Array(times.dropLast())) == [-1_172, -1_172, 3_600, 3_600, 7_200, 3_600])
  }

  @Test("Version 1 has 32 bits and no rule, and later versions ignore their part in version 1")
  func versions() throws {
    let first = ZoneFile(version: 0, transitions: [(5, 1)], offsets: [60, 120])
    #expect(try offsets(first, [4, 5]) == [60, 120])
    let both = ZoneFile(transitions: [(7, 1)], offsets: [60, 120], firstPart: [(-9, 0), (-8, 1), (-7, 0)])
    #expect(try offsets(both, [-8, 6, 7]) == [60, 60, 120])
  }

  @Test("Without changes the rule applies always, and without a rule the only offset does")
  func unchanging() throws {
    #expect(try offsets(ZoneFile(offsets: [-43_200]), [0, .max]) == [-43_200, -43_200])
    #expect(try offsets(ZoneFile(footer: Self.berlin), [0, 1_774_746_000]) == [3_600, 7_200])
  }

  private static let broken: [(name: String, file: ZoneFile)] = [
    ("an unknown version", ZoneFile(version: UInt8(ascii: "1"))),
    ("no offset", ZoneFile(offsets: [])),
    ("an unknown offset", ZoneFile(transitions: [(0, 1)])),
    ("changes in descending order", ZoneFile(transitions: [(5, 0), (4, 0)])),
    ("two changes at the same time", ZoneFile(transitions: [(5, 0), (5, 0)])),
    ("an offset of more than a day", ZoneFile(offsets: [93_600])),
    ("an offset of less than minus a day", ZoneFile(offsets: [-90_000])),
    ("leap seconds", ZoneFile(leapSeconds: 1)),
    ("no rule at the end", ZoneFile(footer: nil)),
    ("an invalid rule", ZoneFile(footer: "CET")),
  ]

  @Test("An invalid file is refused", arguments: broken)
  func refused(name: String, file: ZoneFile) {
    #expect(throws: TimeZoneError.self, "\(name)") { try TimeZoneRules(parsing: file.bytes) }
  }

  @Test("A file that was cut anywhere is refused")
  func cut() {
    let bytes = ZoneFile(transitions: Self.changes, offsets: [0, 1, 2], footer: Self.berlin).bytes
    for count in 0..<bytes.count {
      #expect(throws: TimeZoneError.self, "\(count)") { try TimeZoneRules(parsing: Array(bytes.prefix(count))) }
    }
  }

  @Test("A file that announces more than it has is refused, without an allocation for it")
  func claims() {
    for place in stride(from: 20, to: 44, by: 4) {
      for claim: [UInt8] in [[0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0x0F, 0x42, 0x40]] {
        var bytes = ZoneFile(footer: Self.berlin).bytes
        bytes.replaceSubrange(place..<place + 4, with: claim)
        #expect(throws: TimeZoneError.self) { try TimeZoneRules(parsing: bytes) }
      }
    }
  }

  @Test("A file with any change is read or refused, and if it is read, it has an offset at any time")
  func mutations() throws {
    let seed = TestSeed.make(for: "TimeZoneRulesTests.mutations")
    var numbers = SeededNumbers(seed: seed)
    let rules = [Self.berlin, "AAA0BBB,J60/0,J61/0", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ""]
    let files = rules.map { rule in
      ZoneFile(transitions: Self.changes, offsets: [-1_172, 3_600, 7_200], footer: rule).bytes
    }
    let times: [Int64] = [.min, -3_000_000_000, 0, 1_800_000_000, 253_402_300_799, .max]
    var read = 0
    for _ in 0..<20_000 {
      var bytes = numbers.one(of: files)
      for _ in 0...numbers.below(4) {
        let place = numbers.below(bytes.count)
        switch numbers.below(4) {
        case 0: bytes[place] ^= 1 << UInt8(numbers.below(8))
        case 1: bytes[place] = UInt8(numbers.below(256))
        case 2: bytes.remove(at: place)
        default: bytes.insert(numbers.one(of: Array("\n,./-+:<>JM0129A".utf8)), at: place)
        }
        if bytes.isEmpty { bytes = [0] }
      }
      guard let rules = try? TimeZoneRules(parsing: bytes) else { continue }
      read += 1
      for time in times { #expect(abs(rules.offset(at: time)) <= 97_200) }
    }
    // Most changes to times and offsets leave a readable file.
    #expect(read > 1_000)
  }
}
