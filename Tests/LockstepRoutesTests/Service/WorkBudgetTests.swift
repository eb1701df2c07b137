import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepModules
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("The work that one request can cause", .timeLimit(.minutes(10)))
struct WorkBudgetTests {
  private typealias Actions = ActionsRouteTests

  /// Each number takes a thousand steps.
  private static let dear: JSON = [
    "items": ["allOf": .array((0..<999).map { ["minimum": JSON(-$0)] })]
  ]

  /// Data of this many thousand steps.
  private static func data(_ thousands: Int) -> String {
    "[\((0..<thousands).map(String.init).joined(separator: ","))]"
  }

  private static func serve(_ body: (ServerFixture) async throws -> Void) async throws {
    try await ServerFixture.administered { users in
      for (name, kind) in [("sheets", "list"), ("cells", "map")] {
        let declaration: JSON = ["kind": .string(kind), "schema": dear]
        #expect(try await users.admin.put("/v1/admin/collections/\(name)", declaration.description).status == 201)
      }
      try await body(users)
    }
  }

  private static func adding(_ count: Int, _ data: String) -> String {
    Actions.batch(
      (0..<count).map { Actions.action("sheets", "add", #"{"id":"\#($0)","title":"a","data":\#(data)}"#) }
    )
  }

  /// Sends a request, and returns the connection without waiting for the response.
  private static func begin(
    _ device: Device,
    _ method: String,
    _ target: String,
    _ body: String,
    type: String = "application/json"
  ) async throws -> RawClient {
    let client = try device.users.connect()
    let fields = [
      "Authorization: Bearer \(device.token)", "Content-Type: \(type)", "Content-Length: \(body.utf8.count)",
    ]
    try await client.send(StubbedServer.request(method, target, fields) + body)
    return client
  }

  @Test("An exhausted budget stays exhausted, and further patches do nothing")
  func exhausted() throws {
    let budget = WorkBudget(steps: 10)
    budget.spend(bytes: 1_000)
    _ = try PatchDocument([]).applied(to: ["a": 1], budget: budget)
    #expect(budget.isExhausted)
    budget.leave(units: 0)
    #expect(budget.isExhausted)
    // The request is refused anyway, so later patches do nothing.
    let adding = try PatchDocument([["op": "add", "path": "/b", "value": 2]])
    #expect(try adding.applied(to: ["a": 1], budget: budget) == ["a": 1])
  }

  @Test("All values of a request share its steps: past them, the request is refused and changes nothing")
  func reading() async throws {
    try await Self.serve { users in
      let ada = try await users.signUp()
      let dear = Self.data(30)
      #expect(try await ada.put("/v1/sheets/one", #"{"data":\#(dear)}"#).status == 201)
      #expect(try await ada.post("/v1/actions", Self.adding(50, dear)).status == 200)
      let before = try await ada.get("/v1/sheets")
      let refused = try await ada.post("/v1/actions", Self.adding(80, dear))
      #expect(refused.problem == ProblemSummary("validation-failed", ""))
      #expect(refused.json["errors"]?[0]?["detail"]?.stringValue?.contains("fewer actions") == true)
      #expect(try await ada.post("/v1/actions?dryRun=true", Self.adding(80, dear)).status == 422)
      // The values of a map, too.
      let values = "{\((0..<80).map { #""\#($0)":\#(dear)"# }.joined(separator: ","))}"
      for type in ["application/json", "application/merge-patch+json"] {
        #expect(try await ada.patch("/v1/cells", values, ["Content-Type: \(type)"]).status == 422)
      }
      #expect(try await ada.get("/v1/sheets").body == before.body)
      #expect(try await ada.get("/v1/cells").json["count"] == 0)
    }
  }

  @Test("The actions that a screen performs at once share the steps of a request, and note their declaration")
  func screens() async throws {
    let sheets = UserModule.declared(try DeclaredCollection(["name": "sheets", "kind": "list", "schema": Self.dear]))
    let fixture = try SyncFixture { $0.modules = [sheets] }
    let ann = try await fixture.user(1)
    let users = LedgerUsers(
      cache: fixture.cache,
      registry: fixture.registry,
      followed: FollowedUsers(),
      ledger: fixture.ledger,
      modules: Modules(fixture.modules.all),
      turns: LedgerUsers.makeTurns()
    )
    let user = try await users.open(for: ann, from: ClientNetwork(host: "192.0.2.1"), following: []).user
    let data = JSON.array((0..<30).map { JSON($0) })
    let actions = (0..<80).map { ModuleAction("sheets", "add", ["id": .string("\($0)"), "data": data]) }
    await #expect(throws: StateChangeError.unavailable(reason: "TooMuchWorkError()")) {
      try await user.perform(actions)
    }
    #expect(try await fixture.state(of: ann).revision == .none)
    try await user.perform(Array(actions.prefix(50)))
    #expect(try await fixture.state(of: ann).revision == 1)

    // The decision takes long, so it waits for the network's turn.
    let networks = fixture.background.networks
    let (isHeld, gate) = (LockedState(0), ThreadGate())
    defer { gate.open() }
    let network = ClientNetwork(host: "192.0.2.1").hashValue
    let holders = (0..<2).map { _ in
      Task {
        try await networks.run(for: network) {
          isHeld.withLock { $0 += 1 }
          await aside { gate.pass() }
        }
      }
    }
    await eventually { isHeld.withLock { $0 } == 2 }
    let change = Task { try await user.perform("sheets", "update", ["id": "0", "title": "b"]) }
    await eventually { networks.waiting(of: network) == 1 }
    gate.open()
    try await change.value
    for holder in holders { try await holder.value }

    var declared = sheets
    declared.version = DeclaredVersion()
    let (found, version) = (declared, declared.version)
    #expect(try actions[0].read(by: { _ in found }).version === version)
  }

  @Test("Changes of titles check the data again, and share the steps of the request")
  func deciding() async throws {
    try await Self.serve { users in
      let ada = try await users.signUp()
      for part in 0..<2 {
        let adding = (0..<40).map {
          Actions.action("sheets", "add", #"{"id":"\#(part * 40 + $0)","data":\#(Self.data(30))}"#)
        }
        #expect(try await ada.post("/v1/actions", Actions.batch(adding)).status == 200)
      }
      let titles = { (count: Int) in
        Actions.batch((0..<count).map { Actions.action("sheets", "update", #"{"id":"\#($0)","title":"b"}"#) })
      }
      let before = try await ada.get("/v1/sheets")
      #expect(try await ada.post("/v1/actions", titles(80)).problem == ProblemSummary("validation-failed", ""))
      #expect(try await ada.post("/v1/actions?dryRun=true", titles(80)).status == 422)
      #expect(try await ada.get("/v1/sheets").body == before.body)
      #expect(try await ada.post("/v1/actions", titles(40)).status == 200)
      #expect(try await ada.get("/v1/sheets?where=title:eq:b").json["count"] == 40)
    }
  }

  @Test("Long checks, decisions and patches run on encoder threads, while others read and write")
  func offTheLoop() async throws {
    try await Self.serve { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      #expect(try await ada.put("/v1/sheets/one", #"{"title":"a","data":\#(Self.data(30))}"#).status == 201)
      let copied = String(repeating: "x", count: 8_000)
      #expect(try await ada.put("/v1/favorites/one", #"{"data":{"a":"\#(copied)"}}"#).status == 201)
      let patch = (0..<200).map { _ in #"{"op":"copy","from":"/data/a","path":"/data/b"}"# }
      let requests = [
        ("POST", "/v1/actions", Self.adding(50, Self.data(30)), "application/json"),
        ("PATCH", "/v1/sheets/one", #"{"title":"b"}"#, "application/json"),
        ("PATCH", "/v1/favorites/one", "[\(patch.joined(separator: ","))]", "application/json-patch+json"),
      ]
      for (method, target, body, type) in requests {
        let held = try await HeldEncoders(users)
        defer { held.gate.open() }
        let client = try await Self.begin(ada, method, target, body, type: type)
        await held.hasRequest(of: ada)
        // There is only one event loop and one writer thread.
        #expect(try await ada.get("/v1/sheets/one").status == 200)
        #expect(try await bob.put("/v1/favorites/\(target.utf8.count)", "{}").status == 201)
        // A short write of the same user, and a short patch.
        #expect(try await ada.patch("/v1/favorites/one", #"{"title":"\#(method)"}"#).status == 200)
        try await held.letGo()
        let response = try await client.response()
        #expect(response.status == 200 || response.status == 422, "\(method) \(target) \(response.text)")
      }
      #expect(try await ada.get("/v1/sheets/one").json["title"] == "b")
      #expect(try await ada.get("/v1/sheets").json["count"] == 51)
    }
  }

  @Test("A write that a former declaration has checked gets 503 with Retry-After, and changes nothing")
  func changedDeclaration() async throws {
    try await Self.serve { users in
      let ada = try await users.signUp()
      let data = #""\#(String(repeating: "x", count: 200_000))""#
      #expect(try await ada.put("/v1/sheets/one", #"{"data":\#(data)}"#).status == 201)
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      // Reading is short, and deciding is long.
      let long = try await Self.begin(ada, "PATCH", "/v1/sheets/one", #"{"title":"b"}"#)
      await held.hasRequest(of: ada)
      let stricter = #"{"kind":"list","schema":{"type":"array"}}"#
      #expect(try await users.admin.put("/v1/admin/collections/sheets", stricter).status == 200)
      try await held.letGo()
      let refused = try await long.response()
      #expect(refused.problem == ProblemSummary("overloaded") && refused.field("Retry-After") == "1")
      #expect(try await ada.get("/v1/sheets/one").json["title"] == nil)
      #expect(try await ada.post("/v1/actions", Self.adding(3, data)).status == 422)
    }
  }

  @Test("A JSON patch of a map decodes only the values that it names")
  func namedValues() async throws {
    try await Self.serve { users in
      let ada = try await users.signUp()
      let long = #""\#(String(repeating: "x", count: 200_000))""#
      for key in ["a", "b", "c"] { #expect(try await ada.put("/v1/defaults/standard/\(key)", long).status == 201) }
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      let type = ["Content-Type: application/json-patch+json"]
      let short = #"[{"op":"add","path":"/n","value":[1]},{"op":"copy","from":"/n/0","path":"/m"}]"#
      #expect(try await ada.patch("/v1/defaults/standard", short, type).status == 200)
      #expect(try await ada.get("/v1/defaults/standard/m").json == 1)
      let whole = #"[{"op":"copy","from":"","path":"/copy"}]"#
      let client = try await Self.begin(
        ada,
        "PATCH",
        "/v1/defaults/standard",
        whole,
        type: "application/json-patch+json"
      )
      await held.hasRequest(of: ada)
      try await held.letGo()
      #expect(try await client.response().status == 422)
    }
  }

  @Test("A view for many conditions compares each suite with its registered defaults once")
  func comparisons() {
    var registered = RegisteredDefaults()
    registered.apply("theme", in: "standard", value: Array("1".utf8), revision: 7)
    registered.apply("theme", in: "other", value: Array("1".utf8), revision: 8)
    let own = MapState([(ElementKey("theme"), MapValue(encoded: Array("2".utf8), revision: 9))]).values
    let view = StateView(store: "s", state: UserState(), registered: registered, at: 8)
    let remembering = view.forManyConditions
    for view in [view, remembering] { #expect(view.shownRevision(of: "standard", behind: MapState([]).values) == 7) }
    // The user's own value hides the registered one. The second view still returns its first result.
    #expect(view.shownRevision(of: "standard", behind: own) == .none)
    #expect(remembering.shownRevision(of: "standard", behind: own) == 7)
    #expect(remembering.shownRevision(of: "other", behind: MapState([]).values) == 8)
  }

  @Test("500 conditions on a suite with registered defaults hold together, and none holds after a change")
  func conditions() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      #expect(try await users.admin.patch("/v1/admin/registered/standard", #"{"a":1}"#).status == 200)
      let cursor = try #require(try await ada.put("/v1/defaults/standard/b", "1").cursor)
      let merge = Actions.action("defaults", "merge", #"{"values":{"b":2}},"ifMatch":"\#(cursor)""#)
      let merging = Actions.batch(Array(repeating: merge, count: 500))
      #expect(try await ada.post("/v1/actions", merging).status == 200)
      #expect(try await ada.post("/v1/actions", merging).problem == ProblemSummary("precondition-failed"))
    }
  }
}
