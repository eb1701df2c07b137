import Glibc
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepTime

@Suite("Time zones are looked up by name", .timeLimit(.minutes(10)))
struct TimeZonesTests {
  /// Runs `body` with a temporary folder of zones.
  private func withZones(
    capacity: Int = 4,
    _ body: (TimeZones, TemporaryDirectory) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let workers = try WorkerPool(name: "files", threads: 1, capacity: 64)
    do {
      try await body(TimeZones(folder: folder.path, capacity: capacity, workers: workers), folder)
    } catch {
      Issue.record(error)
    }
    await aside { workers.shutDown() }
  }

  private func zone(_ hours: Int) -> [UInt8] { ZoneFile(offsets: [Int32(hours * 3_600)]).bytes }

  @Test("A zone is read once and then found in memory")
  func found() async throws {
    try await withZones { zones, folder in
      mkdir(folder.file("Europe"), 0o700)
      try folder.write(zone(1), to: "Europe/Berlin")
      #expect(try await zones.rules(of: "Europe/Berlin").offset(at: 0) == 3_600)
      try folder.write(zone(2), to: "Europe/Berlin")
      #expect(try await zones.rules(of: "Europe/Berlin").offset(at: 0) == 3_600)
      #expect(zones.count == 1)
    }
  }

  @Test("The cache has a fixed size, and keeps the zones that were used last")
  func bounded() async throws {
    try await withZones { zones, folder in
      for number in 0..<10 { try folder.write(zone(number), to: "Zone\(number)") }
      _ = try await zones.rules(of: "Zone0")
      // If the zone is read again, its offset is another one.
      try folder.write(zone(11), to: "Zone0")
      for number in 1..<10 {
        _ = try await zones.rules(of: "Zone\(number)")
        #expect(try await zones.rules(of: "Zone0").offset(at: 0) == 0)
        #expect(zones.count <= 4)
      }
      try folder.write(zone(11), to: "Zone1")
      #expect(try await zones.rules(of: "Zone1").offset(at: 0) == 11 * 3_600)
    }
  }

  @Test(
    "A text that is not a name is refused without reading a file",
    arguments: [
      "", "/etc/passwd", "../zone", "A/../../zone", "A/./B", "A//B", "A/", ".", "..", "A/..", "A\0B", "A B", "Zoneé",
      "-A", "1A", "localtime", "posix/UTC", "right/UTC", "tzdata.zi", "Zone1.txt", "A/-B", "A\\B", "A\nB",
      "A" + String(repeating: "a", count: 64),
    ]
  )
  func names(name: String) async throws {
    #expect(TimeZoneName(name) == nil)
    try await withZones { zones, _ in
      await #expect(throws: TimeZoneError("This is not the name of a time zone.")) { try await zones.rules(of: name) }
    }
  }

  @Test(
    "IANA's names are accepted",
    arguments: [
      "UTC", "Etc/GMT+1", "Etc/GMT-14", "America/Port-au-Prince", "America/Argentina/ComodRivadavia", "GMT0", "EST5EDT",
      "America/Port_of_Spain", "A" + String(repeating: "a", count: 63),
    ]
  )
  func allowed(name: String) {
    #expect(TimeZoneName(name)?.text == name)
  }

  @Test("A missing, long or invalid file is an error, and is not cached")
  func errors() async throws {
    try await withZones { zones, folder in
      mkdir(folder.file("Folder"), 0o700)
      mkfifo(folder.file("Pipe"), 0o600)
      try folder.write(Array("Berlin".utf8), to: "Text")
      try folder.write([], to: "Empty")
      try folder.write(zone(1) + [UInt8](repeating: 0, count: TimeZones.longestFile), to: "Long")
      for name in ["Nowhere", "Folder", "Pipe", "Text", "Empty", "Long", "Text/Berlin"] {
        await #expect(throws: TimeZoneError.self, "\(name)") { try await zones.rules(of: name) }
      }
      #expect(zones.count == 0)
      try folder.write(zone(1), to: "Nowhere")
      #expect(try await zones.rules(of: "Nowhere").offset(at: 0) == 3_600)
    }
  }

  @Test("The text is in the requested zone or in UTC, and says which")
  func texts() async throws {
    try await withZones { zones, folder in
      try folder.write(zone(9), to: "Tokyo")
      let texts: any DateTexts = zones
      let moment = Timestamp(millisecondsSince1970: 1_795_259_100_000)
      let cases: [(language: String?, zone: String?, text: String)] = [
        ("ja-JP", "Tokyo", "2026年11月21日 20:05"), ("ja", nil, "2026年11月21日 11:05 (UTC)"),
        ("en", "Nowhere", "21 November 2026 at 11:05 (UTC)"), ("en", "../Tokyo", "21 November 2026 at 11:05 (UTC)"),
        (nil, "Tokyo", "2026-11-21T20:05:00+09:00"), (nil, nil, "2026-11-21T11:05:00Z"),
      ]
      for (language, zone, text) in cases {
        #expect(await texts.text(moment, languages: language.map { ["xx", $0] } ?? ["xx"], timeZone: zone) == text)
      }
    }
  }
}
