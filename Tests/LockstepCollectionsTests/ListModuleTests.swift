import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

/// A list with the standard actions only.
private struct Trips: ListModule {
  typealias Element = Trip
  static let name = "trips"
  static let rules: [ElementRule] = [
    .bytes("title", 1...50), .range("balance", -5...5), .range("price", 0...1_000), .default("isDone", false),
    .default("seats", 1), .default("rating", 0), .default("kind", "rail"), .default("tags", .array([])),
    .default("scores", .object([:])), .default("balance", 0), .default("place", ["city": "Oslo"]),
    .default("key", "00000000-0000-4000-8000-000000000000"), .default("price", "0"), .added("start"), .changed("end"),
  ]
}

/// A list with an action of its own, and with fewer standard ones.
private struct Jobs: ListModule {
  struct Job: Codable, Equatable, Identifiable, Sendable {
    let id: String
    var name: String
    var runs = 0
    var note: String?
  }

  enum Action: Sendable {
    case edit(List<Job>.Mutation)
    case run(id: String)
    /// Makes the module return something wrong.
    case err([List<Job>.Mutation])
  }

  static let name = "jobs"
  static let rules: [ElementRule] = [.default("runs", 0), .readOnly("runs"), .bytes("name", 1...9)]
  static let actions = Actions(
    edits: Action.edit,
    standard: [.add, .update, .remove],
    ActionCase("run", .name("id")) { .run(id: $0) },
    ActionCase("err", .text("kind")) { kind in
      let job = Job(id: "a", name: kind == "name" ? "" : "a")
      return switch kind {
      case "insert": .err([.insert(job, at: 0), .insert(job, at: 0)])
      case "replace": .err([.replace(Job(id: "z", name: "z"))])
      case "move": .err([.move(id: "z", to: 0)])
      case "id": .err([.insert(Job(id: "", name: "a"), at: 0)])
      case "name": .err([.insert(job, at: 0)])
      default: .err([.remove(id: "z"), .clear])
      }
    },
    verbs: [.move: .unlisted(ActionCase("run", .name("id"), .index("index")) { id, _ in .run(id: id) })]
  )

  let limit: Int

  func decide(_ action: Action, _ list: List<Job>) throws(Refusal) -> [List<Job>.Mutation] {
    switch action {
    case .edit(let mutation):
      if mutation.element?.name == "forbidden" { throw .conflict("This name is forbidden.") }
      return [mutation]
    case .run(let id):
      guard var job = list[id] else { throw .notFound("There is no such job.") }
      if job.runs >= limit { throw .conflict("It ran too often.") }
      job.runs += 1
      return [.replace(job), .move(id: id, to: list.count - 1)]
    case .err(let mutations): return mutations
    }
  }

  static func recorded(_ payload: JSON, of type: String) -> JSON {
    guard var object = payload.objectValue, object.contains(name: "note") else { return payload }
    object["note"] = "…"
    return .object(object)
  }
}

/// A list with an action whose type has a capital K, which looks like the Kelvin sign.
private struct Stays: ListModule {
  typealias Element = Trip

  enum Action: Sendable {
    case edit(List<Trip>.Mutation)
    case clearKept
  }

  static let name = "stays"
  static let actions = Actions(edits: Action.edit, ActionCase("clearKept") { .clearKept })

  func decide(_ action: Action, _ list: List<Trip>) throws(Refusal) -> [List<Trip>.Mutation] {
    switch action {
    case .edit(let mutation): [mutation]
    case .clearKept: [.clear]
    }
  }
}

@Suite("A typed list", .timeLimit(.minutes(10)))
struct ListModuleTests {
  /// A user's state, changed by actions.
  private struct World {
    let module: UserModule
    var state = UserState()
    var now = Timestamp(millisecondsSince1970: 1_000)

    init(_ module: UserModule) { self.module = module }

    var list: ListState { state.list(CollectionName(module.name)) }
    var items: [JSON] { list.items.map { JSON(trusting: $0.encoded) } }

    /// Returns the types of the mutations.
    @discardableResult
    mutating func act(_ type: String, _ payload: JSON = [:]) throws -> [String] {
      try perform(try #require(try module.read(type, payload)))
    }

    @discardableResult
    mutating func act(_ verb: ElementVerb, _ payload: JSON) throws -> [String] {
      try perform(try #require(module.verbs[verb]).read(payload, nil))
    }

    private mutating func perform(_ action: UserAction) throws -> [String] {
      let context = ActionContext(state: state, registered: RegisteredDefaults(), now: now)
      let mutations = try action.decide(context)
      let revision = Revision(number: Int(now.millisecondsSince1970))
      _ = state.reduce(mutations, in: action.collection, by: module.reducer, revision: revision)
      now = Timestamp(millisecondsSince1970: now.millisecondsSince1970 + 1_000)
      let json = try JSON(parsing: CollectionMutation.encoded(mutations))
      return (json.arrayValue ?? []).compactMap { $0["type"]?.stringValue }
    }

    /// The pointers of the faults of an action.
    mutating func faults(_ type: String, _ payload: JSON) -> [String] {
      do throws {
        try act(type, payload)
        return []
      } catch let error as Refusal {
        guard case .invalid(let faults) = error else { return ["\(error)"] }
        return faults.map(\.pointer)
      } catch {
        return ["\(error)"]
      }
    }
  }

  @Test("Types of actions are compared by bytes")
  func equivalentTypes() throws {
    let module = UserModule.list(Stays())
    #expect(try module.read("clearKept", [:]) != nil)
    // The Kelvin sign.
    #expect(try module.read("clear\u{212A}ept", [:]) == nil)
  }

  @Test("A new element gets its defaults and its times, in the order of the type")
  func adding() throws {
    var world = World(.list(Trips()))
    #expect(try world.act("add", ["title": "North", "id": "a", "stars": 2]) == ["inserted"])
    let expected =
      #"{"id":"a","title":"North","isDone":false,"balance":0,"seats":1,"rating":0.0,"price":"0","#
      + #""start":"1970-01-01T00:00:01.000Z","end":"1970-01-01T00:00:01.000Z","kind":"rail","stars":2,"tags":[],"#
      + #""scores":{},"place":{"city":"Oslo"},"key":"00000000-0000-4000-8000-000000000000"}"#
    #expect(world.items.map(\.description) == [expected])
    #expect(try world.act("add", ["title": "South", "id": "b", "index": 0, "tags": ["x"]]) == ["inserted"])
    #expect(try world.act("add", ["title": "West", "id": "c", "index": 9]) == ["inserted"])
    #expect(world.items.map { $0["id"] } == ["b", "a", "c"])
  }

  @Test("A replaced element keeps its place and the time at which it was added; what is not sent is the default")
  func replacing() throws {
    var world = World(.list(Trips()))
    try world.act("add", ["id": "a", "title": "North", "balance": 3])
    try world.act("add", ["id": "b", "title": "South"])
    let before = world.items[0]
    #expect(try world.act(.put, ["id": "a", "title": "North", "balance": 3, "start": "ignored", "end": 1]) == [])
    #expect(world.items[0] == before)
    #expect(try world.act(.put, ["id": "a", "title": "North", "index": 1]) == ["modified"])
    let after = world.items[0]
    #expect(after["balance"] == 0 && after["start"] == before["start"])
    #expect(after["end"] == "1970-01-01T00:00:04.000Z")
  }

  @Test("A merge patch and a JSON patch change members; null removes one, or gives it its default")
  func patching() throws {
    var world = World(.list(Trips()))
    try world.act("add", ["id": "a", "title": "North", "balance": 3, "stars": 1, "place": ["city": "A", "zip": "1"]])
    #expect(try world.act("update", ["id": "a", "balance": nil, "stars": nil, "place": ["zip": nil]]) == ["modified"])
    #expect(world.items[0]["balance"] == 0 && world.items[0]["stars"] == nil)
    #expect(world.items[0]["place"] == ["city": "A"])
    #expect(try world.act("update", ["id": "a", "title": "North"]) == [])
    let patch: JSON = [
      ["op": "test", "path": "/title", "value": "North"], ["op": "add", "path": "/tags/-", "value": "x"],
    ]
    #expect(try world.act(.jsonPatch, ["id": "a", "operations": patch]) == ["modified"])
    #expect(world.items[0]["tags"] == ["x"])
    let test: JSON = [["op": "test", "path": "/title", "value": "South"]]
    #expect(throws: Refusal.self) { try world.act(.jsonPatch, ["id": "a", "operations": test]) }
    #expect(throws: Refusal.invalid("/id", "This member is not allowed here. Check its name.")) {
      try world.act(.jsonPatch, ["id": "a", "operations": [["op": "add", "path": "/id", "value": "b"]]])
    }
    #expect(throws: Refusal.self) {
      try world.act(.jsonPatch, ["id": "a", "operations": [["op": "replace", "path": "", "value": 1]]])
    }
  }

  @Test("Elements can be moved, removed, toggled and cleared")
  func others() throws {
    var world = World(.list(Trips()))
    for id in ["a", "b", "c"] { try world.act("add", ["id": .string(id), "title": "x"]) }
    #expect(try world.act(.move, ["id": "a", "index": 9]) == ["moved"])
    #expect(try world.act("move", ["id": "a", "index": 2]) == [])
    #expect(world.items.map { $0["id"] } == ["b", "c", "a"])
    #expect(try world.act("toggle", ["id": "b", "title": "x"]) == ["removed"])
    #expect(try world.act("toggle", ["id": "b", "title": "x"]) == ["inserted"])
    #expect(try world.act(.delete, ["id": "c"]) == ["removed"])
    #expect(try world.act("clear") == ["cleared"])
    #expect(try world.act("clear") == [])
    for action in ["update", "remove"] {
      #expect(throws: Refusal.notFound("There is no element with the id “z” in trips.")) {
        try world.act(action, ["id": "z"])
      }
    }
    #expect(throws: Refusal.self) { try world.act("move", ["id": "z", "index": 0]) }
  }

  @Test("Every fault of a payload is named, at once")
  func faults() throws {
    var world = World(.list(Trips()))
    #expect(
      world.faults(
        "add",
        [
          "id": "", "title": "", "balance": 6, "seats": 256, "price": "1000.01", "start": 1, "end": 2, "kind": "air",
          "stars": 3, "tags": ["a", 1], "scores": ["a": 1, "b": "x"], "place": ["zip": 1, "town": ""], "key": "x",
          "stops": [["city": "a"], 1], "isDone": 1, "rating": "x", "other": 1,
        ]
      ) == [
        "/id", "/title", "/isDone", "/balance", "/seats", "/rating", "/price", "/kind", "/stars", "/tags/1",
        "/scores/b", "/place/city", "/place/zip", "/place/town", "/stops/1", "/key", "/other",
      ]
    )
    #expect(world.faults("add", ["id": "a", "title": "x", "key": "x"]) == ["/key"])
    #expect(world.faults("add", ["id": "a"]) == ["/title"])
    try world.act("add", ["id": "a", "title": "x"])
    #expect(
      world.faults("update", ["id": "a", "title": nil, "balance": 9, "kind": 1]) == ["/title", "/balance", "/kind"]
    )
    #expect(world.faults("update", ["id": "a", "other": nil]) == ["/other"])
    #expect(world.faults("add", 1) == [""])
  }

  @Test("A time that cannot be read is a fault, and one in another spelling is stored in the canonical one")
  func times() throws {
    struct Event: Codable, Equatable, Identifiable, Sendable {
      let id: String
      var at: Timestamp
      var until: Timestamp?
    }
    struct Events: ListModule {
      typealias Element = Event
      static let name = "events"
    }
    var world = World(.list(Events()))
    try world.act("add", ["id": "a", "at": "2026-12-01T10:00:00Z", "until": "2026-12-01T12:00:00+01:00"])
    #expect(
      world.items
        == [["id": "a", "at": "2026-12-01T10:00:00.000Z", "until": "2026-12-01T11:00:00.000Z"]]
    )
    #expect(world.faults("add", ["id": "b", "at": "2026-12-01", "until": "soon"]) == ["/at", "/until"])
    #expect(world.faults("update", ["id": "a", "until": 5]) == ["/until"])
    try world.act("update", ["id": "a", "until": nil])
    #expect(world.items[0]["until"] == nil)
  }

  @Test("A module may have actions of its own, fewer standard ones, and verbs of its own")
  func own() throws {
    let module = UserModule.list(Jobs.self) { _ in Jobs(limit: 2) }
    #expect(module.mistake == nil)
    #expect(module.actions.arrayValue?.map { $0["type"] } == ["add", "update", "remove", "run", "err"])
    #expect(Set(module.verbs.keys) == Set(ElementVerb.allCases))
    var world = World(module)
    try world.act("add", ["id": "a", "name": "x", "runs": 7])
    try world.act("add", ["id": "b", "name": "y"])
    #expect(world.items[0] == ["id": "a", "name": "x", "runs": 0])
    #expect(try world.act("run", ["id": "a"]) == ["modified", "moved"])
    #expect(try world.act(.move, ["id": "a", "index": 0]) == ["modified"])
    #expect(throws: Refusal.conflict("It ran too often.")) { try world.act("run", ["id": "a"]) }
    #expect(world.items[1] == ["id": "a", "name": "x", "runs": 2])
    #expect(try world.act(.put, ["id": "a", "name": "z"]) == ["modified"])
    #expect(world.items[1]["runs"] == 2)
    #expect(throws: Refusal.conflict("This name is forbidden.")) {
      try world.act("update", ["id": "a", "name": "forbidden"])
    }
    #expect(try module.read("clear", [:]) == nil && module.read("move", [:]) == nil)
  }

  @Test("The journal has the payload as the client sent it, unless the module changes it")
  func records() throws {
    let module = UserModule.list(Jobs.self) { _ in Jobs(limit: 2) }
    let plain = try #require(try module.read("add", ["name": "x", "id": "a"]))
    #expect(plain.record == #"{"type":"add","payload":{"name":"x","id":"a"}}"#)
    let hidden = try #require(try module.read("add", ["name": "x", "id": "a", "note": "secret"]))
    #expect(hidden.record == #"{"type":"add","payload":{"name":"x","id":"a","note":"…"}}"#)
  }

  @Test("A mistake of the module is an error, and rules hold for what the module itself writes")
  func mistakes() throws {
    var world = World(.list(Jobs.self) { _ in Jobs(limit: 2) })
    for (kind, part) in [
      ("insert", "inserts the element “a”, which the list has"),
      ("replace", "replaces the element “z”, which the list does not have"),
      ("move", "moves the element “z”, which the list does not have"), ("id", "the id “”"),
    ] {
      do {
        try world.act("err", ["kind": .string(kind)])
        Issue.record("\(kind) was accepted.")
      } catch {
        #expect((error as? ModuleError)?.description.contains(part) == true, "\(error)")
      }
    }
    #expect(world.faults("err", ["kind": "name"]) == ["/name"])
    #expect(try world.act("err", ["kind": "none"]) == [])
  }

  @Test("An element that lacks a member of the present type is read with the member's default")
  func older() throws {
    var world = World(.list(Jobs.self) { _ in Jobs(limit: 2) })
    let item = EncodedJSON(["id": "a", "name": "x"])
    #expect(world.module.canRead?(item.encoded) == true)
    #expect(world.module.canRead?(Array(#"{"id":"a"}"#.utf8)) == false)
    let inserted = CollectionMutation.list(.inserted(id: "a", item: item, index: 0))
    _ = world.state.reduce(
      [inserted],
      in: CollectionName("jobs"),
      by: world.module.reducer,
      revision: Revision(number: 1)
    )
    #expect(Jobs.list(in: world.list)["a"] == Jobs.Job(id: "a", name: "x"))
    #expect(try world.act("run", ["id": "a"]) == ["modified"])
    #expect(world.items == [["id": "a", "name": "x", "runs": 1]])
  }

  @Test("A module whose elements have no schema says why")
  func invalid() {
    struct Sets: ListModule {
      struct Element: Codable, Equatable, Identifiable, Sendable {
        let id: String
        var tags: Set<String>
      }
      static let name = "sets"
    }
    #expect(UserModule.list(Sets()).mistake?.hasPrefix("the member “tags” of its elements is a set") == true)
  }

  @Test("A list in a test behaves like the list of a server")
  func lists() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = seed
    func number(_ bound: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % bound
    }
    var (typed, state) = (List<Jobs.Job>(), ListState())
    for step in 0..<2_000 {
      let id = ["a", "b", "c", "d", "e"][number(5)]
      let job = Jobs.Job(id: id, name: "\(step)")
      let item = EncodedJSON(try JSON(encoding: job))
      let index = number(7)
      switch number(5) {
      case 0:
        typed.apply(.insert(job, at: index))
        state.apply(.inserted(id: id, item: item, index: index))
      case 1:
        typed.apply(.replace(job))
        state.apply(.modified(id: id, item: item))
      case 2:
        typed.apply(.remove(id: id))
        state.apply(.removed(id: id))
      case 3:
        typed.apply(.move(id: id, to: index))
        state.apply(.moved(id: id, to: index))
      default:
        guard number(20) == 0 else { continue }
        typed.apply(.clear)
        state.apply(.cleared)
      }
      let read = Jobs.list(in: state)
      try #require(read == typed && read.count == typed.count, "seed \(seed), step \(step)")
      try #require(read.index(of: id) == typed.index(of: id) && read[id] == typed[id], "seed \(seed), step \(step)")
    }
  }
}
