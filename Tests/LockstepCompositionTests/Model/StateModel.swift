import LockstepJSON

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepRoutes

/// A simple model of a user's state. It is not fast, and it shares only JSON with the code that it
/// is compared with.
struct StateModel {
  struct Favorite {
    var id: String
    var title: String?
    var data: JSON?
    var addedAt: String
    var updatedAt: String
    var revision: Int

    var text: String {
      var parts = [#""id":\#(JSON.string(id))"#]
      if let title { parts.append(#""title":\#(JSON.string(title))"#) }
      if let data { parts.append(#""data":\#(data)"#) }
      return "{" + (parts + [#""addedAt":"\#(addedAt)","updatedAt":"\#(updatedAt)""#]).joined(separator: ",")
    }
  }

  struct Value {
    var key: String
    var text: String
    var revision: Int
  }

  struct Suite {
    var name: String
    var values: [Value] = []
    var revision = 0

    func isSame(as other: Suite) -> Bool {
      values.map { [ElementKey($0.key), ElementKey($0.text)] }
        == other.values.map { [ElementKey($0.key), ElementKey($0.text)] }
    }
  }

  /// A registered default. They are kept in the order of registration.
  struct Registration {
    var revision: Int
    var suite: String
    var key: String
    var text: String?
  }

  struct Refused: Error {}

  static let favoritesQuota = 12
  static let keysQuota = 6
  static let suitesQuota = 2

  var revision = 0
  var favorites: [Favorite] = []
  var favoritesRevision = 0
  var suites: [Suite] = []
  var profile: [String: Value] = [:]
  var profileRevision = 0

  // MARK: Actions

  /// Performs actions together: all or none. Returns the index of the first refused one.
  mutating func perform(
    _ actions: [(module: String, type: String, payload: JSON)],
    at time: String,
    registered: [Registration]
  ) -> Int? {
    var next = self
    var hasChanged = false
    for (index, action) in actions.enumerated() {
      do {
        let before = next.texts
        try next.perform(action.module, action.type, action.payload, at: time, registered: registered)
        hasChanged = hasChanged || next.texts != before
      } catch {
        return index
      }
    }
    self = next
    if hasChanged { revision += 1 }
    return nil
  }

  /// All visible content, to find out whether an action changed anything.
  private var texts: [ElementKey] {
    let values = suites.flatMap { suite in suite.values.map { "\(suite.name) \($0.key) \($0.text)" } }
    let fields = profile.values.map { "\($0.key) \($0.text)" }.sorted()
    return (favorites.map(\.text) + values + fields).map { ElementKey($0) }
  }

  private mutating func perform(
    _ module: String,
    _ type: String,
    _ payload: JSON,
    at time: String,
    registered: [Registration]
  ) throws {
    switch module {
    case "favorites": try favorite(type, payload, at: time)
    case "defaults": try setDefault(type, payload, registered)
    default: saveProfile(payload)
    }
  }

  private mutating func favorite(_ type: String, _ payload: JSON, at time: String) throws {
    let id = payload["id"]?.stringValue ?? ""
    let place = favorites.firstIndex { Array($0.id.utf8) == Array(id.utf8) }
    let next = revision + 1
    switch (type, place) {
    case ("add", let place?):
      change(place, title: payload["title"]?.stringValue, data: payload["data"], at: time)
    case ("add", nil), ("toggle", nil):
      guard favorites.count < Self.favoritesQuota else { throw Refused() }
      let new = Favorite(
        id: id,
        title: payload["title"]?.stringValue,
        data: payload["data"],
        addedAt: time,
        updatedAt: time,
        revision: next
      )
      let index = type == "add" ? payload["index"]?.intValue : nil
      favorites.insert(new, at: min(index ?? favorites.count, favorites.count))
      favoritesRevision = next
    case ("update", let place?):
      let old = favorites[place]
      let title = payload["title"].map { $0.stringValue } ?? old.title
      let data = payload["data"].map { (old.data ?? .null).mergePatched(with: $0) } ?? old.data
      change(place, title: title, data: data?.isNull == true ? nil : data, at: time)
    case ("remove", let place?), ("toggle", let place?):
      favorites.remove(at: place)
      favoritesRevision = next
    case ("move", let place?):
      let target = min(payload["index"]?.intValue ?? 0, favorites.count - 1)
      if target == place { return }
      var moved = favorites.remove(at: place)
      moved.revision = next
      favorites.insert(moved, at: target)
      favoritesRevision = next
    case ("clear", _):
      if favorites.isEmpty { return }
      favorites = []
      favoritesRevision = next
    default: throw Refused()
    }
  }

  private mutating func change(_ place: Int, title: String?, data: JSON?, at time: String) {
    var changed = favorites[place]
    (changed.title, changed.data) = (title, data)
    if Array(changed.text.utf8) == Array(favorites[place].text.utf8) { return }
    (changed.updatedAt, changed.revision) = (time, revision + 1)
    favorites[place] = changed
    favoritesRevision = revision + 1
  }

  private mutating func setDefault(_ type: String, _ payload: JSON, _ registered: [Registration]) throws {
    let name = payload["suite"]?.stringValue ?? "standard"
    var suite = suites.first { $0.name == name } ?? Suite(name: name)
    let before = suite
    let key = payload["key"]?.stringValue ?? ""
    let own = suite.values.first { Array($0.key.utf8) == Array(key.utf8) }
    switch type {
    case "set": set(key, payload["value"] ?? .null, in: &suite)
    case "remove":
      if own == nil { throw Refused() }
      set(key, .null, in: &suite)
    case "merge": for (key, value) in payload["values"]?.objectValue ?? [:] { set(key, value, in: &suite) }
    case "increment":
      let shown = own?.text ?? Self.shown(name, at: .max, registered).first { $0.key == key }?.text ?? "0"
      guard let number = Int64(shown), let by = payload["by"]?.int64Value else { throw Refused() }
      set(key, .integer(number + by), in: &suite)
    default:
      if suite.values.isEmpty { return }
      suite = Suite(name: name)
      suite.revision = revision + 1
    }
    if suite.isSame(as: before) { return }
    let isBegun = before.values.isEmpty && !suite.values.isEmpty
    if suite.values.count > max(Self.keysQuota, before.values.count) { throw Refused() }
    if isBegun, suites.count(where: { !$0.values.isEmpty }) >= Self.suitesQuota { throw Refused() }
    suites.removeAll { $0.name == name }
    suites.append(suite)
  }

  private func set(_ key: String, _ value: JSON, in suite: inout Suite) {
    let place = suite.values.firstIndex { Array($0.key.utf8) == Array(key.utf8) }
    switch (place, value.isNull) {
    case (nil, true): return
    case (let place?, true): suite.values.remove(at: place)
    case (let place?, false):
      if ElementKey(suite.values[place].text) == ElementKey(value.description) { return }
      suite.values[place] = Value(key: key, text: value.description, revision: revision + 1)
    case (nil, false): suite.values.append(Value(key: key, text: value.description, revision: revision + 1))
    }
    suite.revision = revision + 1
  }

  private mutating func saveProfile(_ payload: JSON) {
    for (name, value) in payload.objectValue ?? [:] where profile[name]?.text != value.description {
      profile[name] = Value(key: name, text: value.description, revision: revision + 1)
      profileRevision = revision + 1
    }
  }

  // MARK: Resources

  /// The registered defaults of a suite up to a revision.
  private static func shown(_ suite: String, at revision: Int, _ registered: [Registration]) -> [Registration] {
    var latest: [Registration] = []
    for change in registered where change.suite == suite && change.revision <= revision {
      latest.removeAll { $0.key == change.key }
      latest.append(change)
    }
    return latest
  }

  /// Every resource with its ETag and its body.
  func resources(
    store: String,
    suites names: [String],
    registered: [Registration],
    at registeredRevision: Int = .max
  ) -> [(resource: StateResource, tag: String, body: String)] {
    let items = favorites.map { $0.text + "}" }.joined(separator: ",")
    var all: [(StateResource, String, String)] = []
    let list = "\(store).\(favoritesRevision).0"
    all.append(
      (
        .list(ListQuery(CollectionName("favorites"))), list,
        #"{"cursor":"\#(list)","count":\#(favorites.count),"items":[\#(items)]}"#
      )
    )
    for (index, favorite) in favorites.enumerated() {
      let body = favorite.text + #","index":\#(index)}"#
      all.append(
        (.element(CollectionName("favorites"), id: favorite.id), "\(store).\(favorite.revision).0.i\(index)", body)
      )
    }
    let fields = ["companyName", "position"].compactMap { name in profile[name].map { #""\#(name)":\#($0.text)"# } }
    let shape = StateResource.object(CollectionName("profile"), members: ["companyName", "position"])
    all.append((shape, "\(store).\(profileRevision).0", "{" + fields.joined(separator: ",") + "}"))
    for name in names {
      let suite = suites.first { $0.name == name } ?? Suite(name: name)
      let own = Set(suite.values.map { ElementKey($0.key) })
      let behind = Self.shown(name, at: registeredRevision, registered).filter { !own.contains(ElementKey($0.key)) }
      let shown = behind.filter { $0.text != nil }
      let values = (suite.values.map { ($0.key, $0.text) } + shown.map { ($0.key, $0.text ?? "") })
        .sorted { Array($0.0.utf8).lexicographicallyPrecedes(Array($1.0.utf8)) }
      let members = values.map { "\(JSON.string($0.0)):\($0.1)" }.joined(separator: ",")
      let keys = shown.map { "\(JSON.string($0.key))" }.sorted().joined(separator: ",")
      let tag = "\(store).\(suite.revision).\(behind.map(\.revision).max() ?? 0)"
      let body = #"{"cursor":"\#(tag)","values":{\#(members)},"registered":[\#(keys)]}"#
      all.append((.suite(name, prefix: nil), tag, body))
      for value in suite.values {
        all.append((.value(suite: name, key: value.key), "\(store).\(value.revision).0", value.text))
      }
      for value in shown {
        all.append((.value(suite: name, key: value.key), "\(store).0.\(value.revision).r", value.text ?? ""))
      }
    }
    return all
  }
}
