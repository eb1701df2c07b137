/// What the app has registered for everybody, and what it was before.
struct RegisteredDefaults: Sendable {
  /// What a key was from a revision on; nil where it was taken back.
  private struct Change: Sendable {
    let revision: Int
    let value: MapValue?
  }

  /// The last revision; every change has its own.
  private(set) var revision = 0
  private var suites: [String: [ElementKey: [Change]]] = [:]

  /// Takes in a change; they come in the order of their revisions.
  mutating func apply(_ key: String, in suite: String, value: [UInt8]?, revision: Int) {
    let change = Change(revision: revision, value: value.map { MapValue(encoded: $0, revision: revision) })
    suites[suite, default: [:]][ElementKey(key), default: []].append(change)
    self.revision = max(self.revision, revision)
  }

  /// The suites in which anything was ever registered.
  var suiteNames: [String] { suites.keys.sorted() }

  /// The values of a suite as they were at a revision.
  func values(of suite: String, at revision: Int) -> [ElementKey: MapValue] {
    guard let keys = suites[suite] else { return [:] }
    return keys.compactMapValues { changes in changes.last { $0.revision <= revision }?.value }
  }

  /// The value of a key as it was at a revision.
  func value(of key: String, in suite: String, at revision: Int) -> MapValue? {
    suites[suite]?[ElementKey(key)]?.last { $0.revision <= revision }?.value
  }

  /// The values of a suite as they are.
  func values(of suite: String) -> [ElementKey: MapValue] { values(of: suite, at: revision) }

  /// The last revision, up to one, that changed what shows of a suite to a user who has set the given keys.
  func shownRevision(of suite: String, behind own: [ElementKey: MapValue], at revision: Int) -> Int {
    guard let keys = suites[suite] else { return 0 }
    return keys.reduce(0) { last, entry in
      guard own[entry.key] == nil, let change = entry.value.last(where: { $0.revision <= revision }) else {
        return last
      }
      return max(last, change.revision)
    }
  }
}
