import LockstepJSON

/// The registered defaults with their history.
package struct RegisteredDefaults: Sendable {
  /// The value of a key from a revision on. `nil` if the app removed the value.
  private struct Change: Sendable {
    let revision: Revision
    let value: MapValue?
  }

  /// All revisions, in order. The changes of one request share a revision.
  private var revisions: [Revision] = []
  private var suites: [ExactText: [ElementKey: [Change]]] = [:]

  package init() {}

  /// Adds a change. Changes must come in the order of their revisions.
  package mutating func apply(_ key: String, in suite: String, value: [UInt8]?, revision: Revision) {
    let change = Change(revision: revision, value: value.map { MapValue(encoded: $0, revision: revision) })
    suites[suite.exact, default: [:]][ElementKey(key), default: []].append(change)
    if revision > self.revision { revisions.append(revision) }
  }

  package var revision: Revision { revisions.last ?? .none }

  /// Whether a revision belongs to this history.
  package func knows(_ revision: Revision) -> Bool {
    if revision == .none || revision == self.revision { return true }
    var range = revisions[...]
    while let middle = range.dropFirst(range.count / 2).first {
      if middle == revision { return true }
      let index = range.startIndex + range.count / 2
      range = middle < revision ? range[(index + 1)...] : range[..<index]
    }
    return false
  }

  /// The suites that have ever had a registered value.
  package var suiteNames: [String] { suites.keys.sorted().map(\.text) }

  package func values(of suite: String, at revision: Revision) -> [ElementKey: MapValue] {
    guard let keys = suites[suite.exact] else { return [:] }
    return keys.compactMapValues { changes in changes.last { $0.revision <= revision }?.value }
  }

  /// The keys of a suite that changed after a revision, up to another one.
  package func changedKeys(of suite: String, after start: Revision, upTo end: Revision) -> [ElementKey] {
    guard start != end, let keys = suites[suite.exact] else { return [] }
    return keys.filter { $0.value.contains { start < $0.revision && $0.revision <= end } }.map(\.key)
  }

  package func value(of key: String, in suite: String, at revision: Revision) -> MapValue? {
    suites[suite.exact]?[ElementKey(key)]?.last { $0.revision <= revision }?.value
  }

  /// The values of keys that the user has not set, in order.
  package func values(of suite: String, at revision: Revision, behind own: MapState) -> [(
    key: ElementKey, value: MapValue
  )] {
    values(of: suite, at: revision).filter { own.values[$0.key] == nil }.sorted { $0.key < $1.key }.map {
      ($0.key, $0.value)
    }
  }

  package func values(of suite: String) -> [ElementKey: MapValue] { values(of: suite, at: revision) }

  /// The last revision, up to `revision`, that changed the visible registered values of a suite. A
  /// key that the user has set hides the registered value.
  package func shownRevision(of suite: String, behind own: MapValues, at revision: Revision) -> Revision {
    guard let keys = suites[suite.exact] else { return .none }
    return keys.reduce(Revision.none) { last, entry in
      guard own[entry.key] == nil, let change = entry.value.last(where: { $0.revision <= revision }) else {
        return last
      }
      return max(last, change.revision)
    }
  }
}
