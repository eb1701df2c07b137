import Foundation
import LockstepTestSupport
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepTime

/// The folder of the system's time zones.
private let database = "/usr/share/zoneinfo"

@Suite(
  "The system's time zones are read as the system reads them",
  .enabled(
    if: FileManager.default.fileExists(atPath: database + "/Europe/Berlin")
      && FileManager.default.fileExists(atPath: "/usr/bin/date"),
    "requires tzdata and date"
  ),
  .timeLimit(.minutes(10))
)
struct SystemTimeZoneTests {
  /// All files with names of zones.
  private static func names() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: database).filter { name in
      var isFolder: ObjCBool = false
      let isThere = FileManager.default.fileExists(atPath: "\(database)/\(name)", isDirectory: &isFolder)
      return isThere && !isFolder.boolValue && TimeZoneName(name) != nil
    }.sorted()
  }

  private static func rules(_ name: String) throws -> TimeZoneRules {
    try TimeZoneRules(parsing: [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(database)/\(name)"))))
  }

  @Test("Every zone can be read")
  func all() throws {
    let names = try Self.names()
    #expect(names.count > 300)
    for name in names { #expect(throws: Never.self, "\(name)") { try Self.rules(name) } }
  }

  @Test("Thousands of times in dozens of zones have the offset that `date` gives")
  func peer() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "SystemTimeZoneTests.peer"))
    let names = try Self.names().shuffled(using: &numbers).prefix(60)
    for name in names + ["Europe/Dublin", "America/Nuuk", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Gaza"] {
      let rules = try Self.rules(name)
      var times: [Int64] = (0..<40).map { _ in Int64.random(in: -4_000_000_000...16_000_000_000, using: &numbers) }
      // The seconds around clock changes, including those of the rule, which occur at full hours.
      for transition in rules.transitions.shuffled(using: &numbers).prefix(20) {
        times += [transition.time - 1, transition.time]
      }
      for hour in [Int64(1_774_746_000), 1_792_890_000, 1_772_953_200] { times += [hour - 1, hour] }
      let input = times.map { "@\($0)\n" }.joined()
      let output = try await ChildProcess.run(
        ["date", "-f", "-", "+%::z"],
        input: Array(input.utf8),
        variables: ["TZ": name, "LC_ALL": "C"]
      )
      let offsets = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
      try #require(offsets.count == times.count, "\(name)")
      for (time, text) in zip(times, offsets) {
        // For a time without a known offset, `date` writes -00:00:00.
        let offset = text == "-00:00:00" ? "+00:00:00" : text
        #expect(Self.text(rules.offset(at: time)) == offset, "\(name) at \(time)")
      }
    }
  }

  private static func text(_ offset: Int) -> String {
    let parts = [abs(offset) / 3_600, abs(offset) / 60 % 60, abs(offset) % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return (offset < 0 ? "-" : "+") + parts.joined(separator: ":")
  }
}
