import LockstepJSON

// The JSON form of mutations, in the journal and for clients:
// `{"type":"inserted","payload":{"index":0,"item":{…}}}`.

extension CollectionMutation {
  /// The size of the element in the mutation, in bytes. 0 if the mutation contains no element.
  package var bytes: Int {
    switch self {
    case .list(.inserted(_, let item, _)), .list(.modified(_, let item)): item.encoded.count
    case .map(.set(_, let value)): value.encoded.count
    case .list, .map: 0
    }
  }

  func encode(into bytes: inout [UInt8]) {
    switch self {
    case .list(.inserted(_, let item, let index)):
      bytes.append(contentsOf: #"{"type":"inserted","payload":{"index":"#.utf8)
      bytes.append(json: index)
      Self.close(&bytes, with: "item", item.encoded)
    case .list(.modified(_, let item)):
      bytes.append(contentsOf: #"{"type":"modified","payload":{"item":"#.utf8)
      bytes.append(contentsOf: item.encoded)
      bytes.append(contentsOf: "}}".utf8)
    case .list(.removed(let id)): Self.encode("removed", "id", id, into: &bytes)
    case .list(.moved(let id, let index)):
      bytes.append(contentsOf: #"{"type":"moved","payload":{"id":"#.utf8)
      bytes.append(json: id)
      bytes.append(contentsOf: #","to":"#.utf8)
      bytes.append(json: index)
      bytes.append(contentsOf: "}}".utf8)
    case .map(.set(let key, let value)):
      bytes.append(contentsOf: #"{"type":"set","payload":{"key":"#.utf8)
      bytes.append(json: key)
      Self.close(&bytes, with: "value", value.encoded)
    case .map(.removed(let key)): Self.encode("removed", "key", key, into: &bytes)
    case .list(.cleared), .map(.cleared):
      bytes.append(contentsOf: #"{"type":"cleared","payload":{}}"#.utf8)
    }
  }

  package static func encoded(_ mutations: [CollectionMutation]) -> [UInt8] {
    var bytes = [UInt8(ascii: "[")]
    for (index, mutation) in mutations.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      mutation.encode(into: &bytes)
    }
    bytes.append(UInt8(ascii: "]"))
    return bytes
  }

  private static func close(_ bytes: inout [UInt8], with name: StaticString, _ value: [UInt8]) {
    bytes.append(contentsOf: #",""#.utf8)
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(contentsOf: #"":"#.utf8)
    bytes.append(contentsOf: value)
    bytes.append(contentsOf: "}}".utf8)
  }

  private static func encode(_ type: String, _ name: String, _ value: String, into bytes: inout [UInt8]) {
    bytes.append(contentsOf: #"{"type":"\#(type)","payload":{"\#(name)":"#.utf8)
    bytes.append(json: value)
    bytes.append(contentsOf: "}}".utf8)
  }
}

extension CollectionMutation {
  package enum Kind: String, Sendable {
    case list
    case map
  }

  /// Reads the JSON form. Returns `nil` for anything else.
  package init?(_ json: JSON, of kind: Kind) {
    guard let payload = json["payload"] else { return nil }
    let fact: CollectionMutation?
    switch kind {
    case .list: fact = Self.listFact(json["type"]?.stringValue, payload).map(CollectionMutation.list)
    case .map: fact = Self.mapFact(json["type"]?.stringValue, payload).map(CollectionMutation.map)
    }
    guard let fact else { return nil }
    self = fact
  }

  private static func listFact(_ type: String?, _ payload: JSON) -> ListMutation? {
    switch type {
    case "inserted":
      guard let item = payload["item"], let id = item["id"]?.stringValue, let index = payload["index"]?.intValue else {
        return nil
      }
      return .inserted(id: id, item: EncodedJSON(item), index: index)
    case "modified":
      guard let item = payload["item"], let id = item["id"]?.stringValue else { return nil }
      return .modified(id: id, item: EncodedJSON(item))
    case "removed": return payload["id"]?.stringValue.map { .removed(id: $0) }
    case "moved":
      guard let id = payload["id"]?.stringValue, let index = payload["to"]?.intValue else { return nil }
      return .moved(id: id, to: index)
    case "cleared": return .cleared
    default: return nil
    }
  }

  private static func mapFact(_ type: String?, _ payload: JSON) -> MapMutation? {
    switch type {
    case "set":
      guard let key = payload["key"]?.stringValue, let value = payload["value"] else { return nil }
      return .set(key: key, value: EncodedJSON(value))
    case "removed": return payload["key"]?.stringValue.map { .removed(key: $0) }
    case "cleared": return .cleared
    default: return nil
    }
  }
}
