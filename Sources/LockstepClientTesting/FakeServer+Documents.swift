import LockstepClient
import LockstepCollections
import LockstepJSON
import LockstepTime

/// The bodies of responses.
extension FakeServer {
  /// The present value of the thing that an action names, if that has changed since the action's `ifMatch`.
  static func change(of action: JSON, in name: CollectionName, _ contents: Contents) -> (JSON, String)? {
    guard let cursor = action["ifMatch"]?.stringValue else { return nil }
    let base = revision(of: cursor, contents)
    let subject = action["payload"]?["id"]?.stringValue ?? action["payload"]?["key"]?.stringValue
    let current: JSON
    let (latest, existed): (Revision?, Bool)
    switch (contents.state.collections[name], subject) {
    case (.list(let list)?, let id?):
      current = list[id].map { .object($0.object) } ?? .null
      (latest, existed) = (list[id]?.revision, base.map { contents.history[$0].list(name)[id] != nil } ?? true)
    case (.map(let map)?, let key?):
      current = map[key]?.json ?? .null
      (latest, existed) = (map[key]?.revision, base.map { contents.history[$0].map(name)[key] != nil } ?? true)
    case (.list(let list)?, nil): (current, latest, existed) = (items(list), list.revision, false)
    case (.map(let map)?, nil): (current, latest, existed) = (object(map), map.revision, false)
    case (nil, _): (current, latest, existed) = (.null, nil, false)
    }
    let isUnchanged = base.map { base in latest.map { $0 <= Revision(number: base) } ?? !existed } ?? false
    return isUnchanged ? nil : (current, Self.cursor(contents, contents.revision))
  }

  static func cursor(_ contents: Contents, _ revision: Int) -> String { "\(contents.era)-\(revision)" }

  /// The revision of a cursor; nil if it is of another era or beyond the end.
  static func revision(of cursor: String, _ contents: Contents) -> Int? {
    let parts = cursor.split(separator: "-").compactMap { Int($0) }
    guard parts.count == 2, parts[1] < contents.history.count else { return nil }
    // An earlier era knows what the restored backup has.
    return parts[0] == contents.era ? parts[1] : nil
  }

  static func document(_ contents: Contents, since: Int?, _ names: Set<ExactText>?, at now: Timestamp) -> JSON {
    let new = contents.state
    let old = since.map { contents.history[$0] } ?? UserState()
    var changesets: [JSON] = []
    for (name, state) in new.collections.sorted(by: { $0.key < $1.key }) {
      guard names?.contains(name.description.exact) ?? true else { continue }
      switch state {
      case .list(let list):
        if since == nil {
          changesets.append(["collection": .string("\(name)"), "kind": "list", "items": items(list)])
        } else if let changeset = changeset(from: old.list(name), to: list, name) {
          changesets.append(changeset)
        }
      case .map(let map):
        if since == nil {
          changesets.append(["collection": .string("\(name)"), "kind": "map", "values": object(map)])
        } else if let changeset = changeset(from: old.map(name), to: map, name) {
          changesets.append(changeset)
        }
      }
    }
    // A reset has the keys of the last day.
    let oldest = since == nil ? now.millisecondsSince1970 - KeyedResponse.lifetime : 0
    let keys = contents.responses.filter { _, known in
      known.revision.map { $0 > since ?? -1 } ?? false && known.at.millisecondsSince1970 >= oldest
    }.map(\.key).sorted().map(\.text)
    return [
      "since": since.map { .string(cursor(contents, $0)) } ?? .null,
      "cursor": .string(cursor(contents, contents.revision)), "revision": JSON(contents.revision),
      "reset": .bool(since == nil), "changesets": .array(changesets), "keys": .array(keys.map(JSON.string)),
    ]
  }

  static func items(_ list: ListState) -> JSON { .array(list.items.map { .object($0.object) }) }

  static func object(_ map: MapState) -> JSON {
    var object = JSONObject()
    for (key, value) in map.values { object[key.text] = value.json }
    return .object(object)
  }

  static func changeset(from old: ListState, to new: ListState, _ name: CollectionName) -> JSON? {
    let difference = ListDifference(from: old, to: new)
    if difference.isEmpty { return nil }
    return [
      "collection": .string("\(name)"), "kind": "list",
      "deletions": .array(difference.deletions.map { ["index": JSON($0.index), "id": .string($0.id.text)] }),
      "insertions": .array(difference.insertions.map { ["index": JSON($0.index), "item": .object($0.item.object)] }),
      "moves": .array(
        difference.moves.map { ["from": JSON($0.from), "to": JSON($0.to), "id": .string($0.id.text)] }
      ),
      "modifications": .array(
        difference.modifications.map {
          ["index": JSON($0.index), "newIndex": JSON($0.newIndex), "item": .object($0.item.object)]
        }
      ),
    ]
  }

  static func changeset(from old: MapState, to new: MapState, _ name: CollectionName) -> JSON? {
    var set = JSONObject()
    for (key, value) in new.values where old[key.text] != value { set[key.text] = value.json }
    let removed = old.values.filter { new[$0.key.text] == nil }.map { JSON.string($0.key.text) }
    if set.isEmpty, removed.isEmpty { return nil }
    return ["collection": .string("\(name)"), "kind": "map", "set": .object(set), "removed": .array(removed)]
  }

  /// The value of a `Date` field.
  static func date(_ now: Timestamp) -> String {
    let seconds = Int(now.millisecondsSince1970 / 1_000)
    let (time, weekday) = (LocalTime(seconds), CivilDate.weekday(daysSince1970: seconds / 86_400))
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let date = "\(time.date.day.padded(to: 2)) \(months[time.date.month - 1]) \(time.date.year.padded(to: 4))"
    return "\(days[weekday]), \(date) \(time.clock):\(time.second.padded(to: 2)) GMT"
  }

  static func parts(of target: String) -> (path: String, query: [String: String]) {
    let parts = target.split(separator: "?", maxSplits: 1)
    var query: [String: String] = [:]
    for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
      let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
      query[sides[0]] = sides.count > 1 ? sides[1] : ""
    }
    return (parts.first.map(String.init) ?? "", query)
  }
}
