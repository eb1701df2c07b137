import Glibc
import LockstepThreading

/// The time zones of the system's own database, read when they are asked for.
///
/// Those that were asked for last are kept, up to `capacity` of them; so a database that is brought up to date while the
/// server runs is seen when the server is started again.
package final class TimeZones: Sendable {
  private struct Kept: Sendable {
    /// Two halves: what is new or asked for again goes to the young one; when that is full, the old one is forgotten
    /// and the young one takes its place.
    var young: [TimeZoneName: TimeZoneRules] = [:]
    var old: [TimeZoneName: TimeZoneRules] = [:]
  }

  /// More than the largest zone takes, some sixteen times over.
  static let longestFile = 64 * 1024

  private let folder: String
  private let half: Int
  private let workers: WorkerPool
  private let kept = LockedState(Kept())

  /// - Parameters:
  ///   - folder: Where the database lies.
  ///   - capacity: How many zones are kept: each takes a few KiB.
  ///   - workers: Where files are read.
  package init(folder: String = "/usr/share/zoneinfo", capacity: Int = 256, workers: WorkerPool) {
    self.folder = folder
    half = max(1, capacity / 2)
    self.workers = workers
  }

  /// How many zones are kept now.
  var count: Int { kept.withLock { $0.young.count + $0.old.count } }

  /// A zone's rules, for a name in IANA's form. Throws when there is no such zone, its file can't be read, or too many
  /// wait to have one read.
  func rules(of name: String) async throws(TimeZoneError) -> TimeZoneRules {
    guard let name = TimeZoneName(name) else { throw TimeZoneError("That isn't the name of a time zone.") }
    if let rules = find(name) { return rules }
    let path = "\(folder)/\(name.text)"
    do {
      let rules = try await workers.run { try TimeZoneRules(parsing: Self.contents(of: path)) }
      keep(rules, name)
      return rules
    } catch {
      throw (error as? TimeZoneError) ?? TimeZoneError("\(error)")
    }
  }

  private func find(_ name: TimeZoneName) -> TimeZoneRules? {
    kept.withLock { kept in
      if let rules = kept.young[name] { return rules }
      guard let rules = kept.old[name] else { return nil }
      keep(rules, name, in: &kept)
      return rules
    }
  }

  private func keep(_ rules: TimeZoneRules, _ name: TimeZoneName) {
    kept.withLock { keep(rules, name, in: &$0) }
  }

  private func keep(_ rules: TimeZoneRules, _ name: TimeZoneName, in kept: inout Kept) {
    kept.old[name] = nil
    if kept.young.count >= half {
      kept.old = kept.young
      kept.young = [:]
    }
    kept.young[name] = rules
  }

  private static func contents(of path: String) throws(TimeZoneError) -> [UInt8] {
    // Whatever lies there: nobody waits for a pipe's other end, and a folder isn't a file.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw TimeZoneError("There is no such time zone on this system.") }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: longestFile + 1)
    var filled = 0
    while filled < bytes.count {
      let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress.map { $0 + filled }, $0.count - filled) }
      guard count >= 0 else { throw TimeZoneError("There is no such time zone on this system.") }
      if count == 0 { break }
      filled += count
    }
    guard filled <= longestFile else { throw TimeZoneError("The time zone's file is too long.") }
    return Array(bytes.prefix(filled))
  }
}
