import LockstepJSON

/// A value of a map. It is immutable: a change replaces it.
public final class MapValue: Sendable, Equatable {
  /// The JSON, as sent to clients.
  public let encoded: [UInt8]
  /// The revision of its last change.
  public let revision: Revision

  package init(encoded: [UInt8], revision: Revision) {
    self.encoded = encoded
    self.revision = revision
  }

  /// The value.
  public var json: JSON { JSON(trusting: encoded) }

  /// Two values are equal if clients see the same bytes.
  public static func == (left: MapValue, right: MapValue) -> Bool { left === right || left.encoded == right.encoded }
}

/// A change of a map. Make a mutation with `setting(_:to:)`.
public enum MapMutation: Sendable, Equatable {
  /// A key was given this value.
  case set(key: String, value: EncodedJSON)
  /// A key and its value were removed.
  case removed(key: String)
  /// All keys were removed.
  case cleared
}

/// A map of keys and values, at one revision.
public struct MapState: Sendable, Equatable {
  /// The revision of the last change. While mutations are applied, it is their revision.
  public internal(set) var revision: Revision
  /// The values by key.
  public private(set) var values: [ElementKey: MapValue]
  /// The size of the keys and values in bytes.
  public private(set) var bytes: Int
  /// The changes since recording began, or `nil` while nothing is recorded.
  private var edits: [MapEdit]?

  /// The number of values.
  public var count: Int { values.count }

  /// The value of a key, or `nil` if there is none.
  public subscript(key: String) -> MapValue? { values[ElementKey(key)] }

  /// An empty map.
  public init() { self.init([:], revision: .none) }

  package init(_ values: [ElementKey: MapValue] = [:], revision: Revision = .none) {
    self.revision = revision
    self.values = values
    bytes = values.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.encoded.count }
  }

  /// Applies a mutation. It never fails. Removing a missing key changes nothing.
  public mutating func apply(_ mutation: MapMutation) {
    switch mutation {
    case .set(let key, let value):
      set(key, MapValue(encoded: value.encoded, revision: revision))
      edits?.append(.set(ElementKey(key), value))
    case .removed(let key):
      set(key, nil)
      edits?.append(.removed(ElementKey(key)))
    case .cleared:
      let isRecording = edits != nil
      self = MapState(revision: revision)
      if isRecording { edits = [.cleared] }
    }
  }

  /// Calls `reduce` to change the map at a revision, and returns the edits. If `reduce` has
  /// assigned another map, the edits contain the whole map.
  package mutating func recordEdits(in revision: Revision, of reduce: (inout MapState) -> Void) -> [MapEdit] {
    self.revision = revision
    edits = []
    reduce(&self)
    if let edits {
      self.edits = nil
      self.revision = revision
      return edits
    }
    self = MapState(values.mapValues { MapValue(encoded: $0.encoded, revision: revision) }, revision: revision)
    return [.cleared]
      + values.map { .set($0.key, EncodedJSON(JSON(trusting: $0.value.encoded), encoded: $0.value.encoded)) }
  }

  /// Two maps are equal if their revisions are equal and clients see the same values.
  public static func == (left: MapState, right: MapState) -> Bool {
    left.revision == right.revision && left.values == right.values
  }

  /// The number of values and their size after these mutations. The mutations must name each key at
  /// most once.
  package func size(after mutations: [MapMutation]) -> (count: Int, bytes: Int) {
    mutations.reduce((count, bytes)) { size, mutation in
      switch mutation {
      case .set(let key, let value):
        let old = self[key]
        let grown = value.encoded.count - (old?.encoded.count ?? -key.utf8.count)
        return (size.count + (old == nil ? 1 : 0), size.bytes + grown)
      case .removed(let key):
        guard let old = self[key] else { return size }
        return (size.count - 1, size.bytes - key.utf8.count - old.encoded.count)
      case .cleared: return (0, 0)
      }
    }
  }

  private mutating func set(_ key: String, _ value: MapValue?) {
    if let value { bytes += key.utf8.count + value.encoded.count }
    let old =
      value.map { values.updateValue($0, forKey: ElementKey(key)) }
      ?? values.removeValue(forKey: ElementKey(key))
    if let old { bytes -= key.utf8.count + old.encoded.count }
  }
}
