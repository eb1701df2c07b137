import LockstepThreading

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The time zones of the system's database, read on demand. Recently used zones stay in memory, so
/// an update of the database takes effect after a restart.
public final class TimeZones: Sendable {
  /// About sixteen times the size of the largest zone.
  static let longestFile = 64 * 1024

  private let folder: String
  private let workers: WorkerPool
  private let cache: LockedState<GenerationalCache<TimeZoneName, TimeZoneRules>>
  private let flights = SingleFlight<TimeZoneName, TimeZoneRules, TimeZoneError>()

  /// `capacity` counts zones, a few KiB each. Files are read on `workers`.
  public init(folder: String = "/usr/share/zoneinfo", capacity: Int = 256, workers: WorkerPool) {
    self.folder = folder
    cache = LockedState(GenerationalCache(capacity: capacity))
    self.workers = workers
  }

  var count: Int { cache.withLock { $0.count } }

  /// Throws if there is no such zone, its file cannot be read, or too many reads wait already.
  func rules(of name: String) async throws(TimeZoneError) -> TimeZoneRules {
    guard let name = TimeZoneName(name) else { throw TimeZoneError("This is not the name of a time zone.") }
    if let rules = cached(name) { return rules }
    return try await flights.value(of: name) { () throws(TimeZoneError) in
      if let rules = cached(name) { return rules }
      let path = "\(folder)/\(name.text)"
      do {
        let rules = try await workers.run { try TimeZoneRules(parsing: Self.contents(of: path)) }
        cache.withLock { $0.insert(rules, for: name) }
        return rules
      } catch {
        throw (error as? TimeZoneError) ?? TimeZoneError("\(error)")
      }
    }
  }

  private func cached(_ name: TimeZoneName) -> TimeZoneRules? { cache.withLock { $0.use(name) } }

  private static func contents(of path: String) throws(TimeZoneError) -> [UInt8] {
    // `O_NONBLOCK`, so that a pipe at that path does not block the thread.
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
