import LockstepCollections
import LockstepJSON

// The format of collections in the table `snapshots`:
// `{"kind":"list","revision":7,"items":[[3,{…}],…]}`, `{"kind":"map","revision":7,"values":[["key",3,…],…]}`.

extension CollectionState {
  /// The text form, with the revision of each element.
  var snapshot: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(self.bytes + count * 16 + 64)
    switch self {
    case .list(let list):
      bytes.append(contentsOf: #"{"kind":"list","revision":\#(list.revision.rawValue),"items":["#.utf8)
      for (index, item) in list.items.enumerated() {
        bytes.append(contentsOf: "\(index > 0 ? "," : "")[\(item.revision.rawValue),".utf8)
        bytes.append(contentsOf: item.encoded)
        bytes.append(UInt8(ascii: "]"))
      }
    case .map(let map):
      bytes.append(contentsOf: #"{"kind":"map","revision":\#(map.revision.rawValue),"values":["#.utf8)
      for (index, entry) in map.values.sorted(by: { $0.key < $1.key }).enumerated() {
        bytes.append(contentsOf: index > 0 ? ",[".utf8 : "[".utf8)
        bytes.append(json: entry.key.text)
        bytes.append(contentsOf: ",\(entry.value.revision.rawValue),".utf8)
        bytes.append(contentsOf: entry.value.encoded)
        bytes.append(UInt8(ascii: "]"))
      }
    }
    bytes.append(contentsOf: "]}".utf8)
    return bytes
  }

  /// Reads the text form; nil if it is malformed.
  init?(snapshot: [UInt8]) {
    let json = JSON(trusting: snapshot)
    guard let revision = json["revision"]?.revision else { return nil }
    if json["kind"]?.stringValue == "list", let rows = json["items"]?.arrayValue {
      let items = rows.compactMap { row -> ListItem? in
        guard let item = row[1], let id = item["id"]?.stringValue, let revision = row[0]?.revision else { return nil }
        return ListItem(id: ElementKey(id), encoded: item.encoded(), revision: revision)
      }
      self = .list(ListState(items, revision: revision))
    } else if let rows = json["values"]?.arrayValue {
      let values = rows.compactMap { row -> (ElementKey, MapValue)? in
        guard let key = row[0]?.stringValue, let revision = row[1]?.revision, let value = row[2] else { return nil }
        return (ElementKey(key), MapValue(encoded: value.encoded(), revision: revision))
      }
      self = .map(MapState(Dictionary(values) { _, last in last }, revision: revision))
    } else {
      return nil
    }
  }
}

extension JSON {
  fileprivate var revision: Revision? { intValue.map(Revision.init(rawValue:)) }
}
