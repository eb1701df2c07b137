import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport

@Suite("The reactor of defaults", .timeLimit(.minutes(10)))
struct DefaultsReactorTests {
  private static let present = MapState(texts: [
    "theme": #""dark""#, "count": "41", "big": "18446744073709551614", "half": "0.5", "nested": #"{"a":{"b":1},"c":2}"#,
    "\u{E9}": "1",
  ])

  private static let registered: RegisteredDefaults = {
    var registered = RegisteredDefaults()
    registered.apply("start", in: "standard", value: Array("100".utf8), revision: 1)
    registered.apply("start", in: "other", value: Array("200".utf8), revision: 2)
    return registered
  }()

  private static func decision(
    _ type: String,
    _ payload: String,
    quota: DefaultsQuota = .init(),
    in state: UserState = UserState(Suite.collection("standard"), .map(present))
  ) throws -> Decision.Outcome {
    try Decision.outcome(
      of: type,
      payload,
      asked: DefaultsModule(quota: quota).userModule,
      in: state,
      registered: registered
    )
  }

  private static func set(_ key: String, _ value: String) -> Decision.Outcome {
    .facts("[{\"type\":\"set\",\"payload\":{\"key\":\"\(key)\",\"value\":\(value)}}]")
  }

  private static let setting: [Decision] = [
    Decision("set", #"{"key":"new","value":[1,{"x":null}]}"#, set("new", #"[1,{"x":null}]"#)),
    Decision("set", #"{"key":"theme","value":"light","suite":"standard"}"#, set("theme", #""light""#)),
    Decision("set", #"{"key":"theme","value":"dark"}"#, Decision.nothing),
    // The same number written differently is another value, because a value keeps its bytes.
    Decision("set", #"{"key":"count","value":41.0}"#, set("count", "41.0")),
    Decision("set", "{\"key\":\"e\u{301}\",\"value\":1}", set("e\u{301}", "1")),
    Decision("set", #"{"key":"theme","value":null}"#, Decision.invalid("/value")),
    Decision("set", #"{"suite":"no/suite","key":"","value":null}"#, Decision.invalid("/suite", "/key", "/value")),
    Decision("set", #"{}"#, Decision.invalid("/key", "/value")),
    Decision("set", #"{"suite":7,"key":7,"value":7}"#, Decision.invalid("/suite", "/key")),
    Decision("remove", #"{"key":"theme"}"#, .facts(#"[{"type":"removed","payload":{"key":"theme"}}]"#)),
    Decision("remove", #"{"key":"nothing"}"#, .refused(.notFound)),
    Decision("remove", #"{"key":"start"}"#, .refused(.notFound)),
    Decision("remove", "{\"key\":\"e\u{301}\"}", .refused(.notFound)),
    Decision("clear", "{}", .facts(#"[{"type":"cleared","payload":{}}]"#)),
    Decision("clear", #"{"suite":"other"}"#, Decision.nothing),
  ]

  private static let merging: [Decision] = [
    Decision(
      "merge",
      #"{"values":{"theme":null,"count":42,"nothing":null,"half":0.5,"nested":{"a":9}}}"#,
      .facts(
        #"[{"type":"removed","payload":{"key":"theme"}},{"type":"set","payload":{"key":"count","value":42}},"#
          + #"{"type":"set","payload":{"key":"nested","value":{"a":9}}}]"#
      )
    ),
    Decision("merge", #"{"values":{}}"#, Decision.nothing),
    Decision("merge", #"{"values":{"":1,"ok":2,"a\u0000/~":3}}"#, Decision.invalid("/values/", "/values/a\u{0}~1~0")),
    Decision("merge", #"{"values":[1]}"#, Decision.invalid("/values")),
    Decision("merge", "{}", Decision.invalid("/values")),
  ]

  private static let incrementing: [Decision] = [
    Decision("increment", #"{"key":"count","by":1}"#, set("count", "42")),
    Decision("increment", #"{"key":"count","by":-42}"#, set("count", "-1")),
    Decision("increment", #"{"key":"count","by":0}"#, Decision.nothing),
    Decision("increment", #"{"key":"half","by":1}"#, set("half", "1.5")),
    Decision("increment", #"{"key":"new","by":2.5}"#, set("new", "2.5")),
    Decision("increment", #"{"key":"start","by":1}"#, set("start", "101")),
    Decision("increment", #"{"suite":"other","key":"start","by":1}"#, set("start", "201")),
    // Integers of 64 bits are exact, signed or not. Sums beyond them are refused and not rounded.
    Decision("increment", #"{"key":"big","by":1}"#, set("big", "18446744073709551615")),
    Decision("increment", #"{"key":"big","by":2}"#, .refused(.conflict)),
    Decision("increment", #"{"key":"big","by":-9223372036854775808}"#, set("big", "9223372036854775806")),
    Decision("increment", #"{"key":"new","by":9223372036854775807}"#, set("new", "9223372036854775807")),
    Decision("increment", #"{"key":"count","by":9223372036854775807}"#, set("count", "9223372036854775848")),
    Decision("increment", #"{"key":"count","by":-9223372036854775808}"#, set("count", "-9223372036854775767")),
    Decision("increment", #"{"key":"half","by":1e308}"#, set("half", "1e+308")),
    Decision("increment", #"{"key":"theme","by":1}"#, .refused(.conflict)),
    Decision("increment", #"{"key":"count","by":"1"}"#, Decision.invalid("/by")),
    Decision("increment", "{}", Decision.invalid("/key", "/by")),
  ]

  @Test("An action gives the expected mutations or the expected refusal", arguments: setting + merging + incrementing)
  func decides(_ row: Decision) throws {
    #expect(try Self.decision(row.action, row.payload) == row.outcome)
  }

  @Test("Any other type of action is unknown")
  func others() throws {
    let module = DefaultsModule(quota: .init()).userModule
    for type in ["", "patch", "mergePatch", "Set", "save"] {
      #expect(try module.read(type, ["key": "a", "value": 1, "operations": [], "patch": [:]]) == nil)
    }
  }

  // MARK: Patches

  private static func facts(_ action: ValuesAction, quota: DefaultsQuota = .init()) throws -> Decision.Outcome {
    do throws(Refusal) {
      let reactor = ValuesReactor(quota: quota) { _ in nil }
      let facts = try reactor.mutate(action, in: present).map(CollectionMutation.map)
      return .facts(String(decoding: CollectionMutation.encoded(facts), as: UTF8.self))
    } catch {
      return .refused(error.withoutWords)
    }
  }

  @Test("A merge patch applies at every depth")
  func mergePatches() throws {
    #expect(
      try Self.facts(.mergePatch(["nested": ["a": ["b": .null, "d": 3]], "theme": .null, "nothing": .null]))
        == .facts(
          #"[{"type":"set","payload":{"key":"nested","value":{"a":{"d":3},"c":2}}},"#
            + #"{"type":"removed","payload":{"key":"theme"}}]"#
        )
    )
    #expect(try Self.facts(.mergePatch(["nested": ["c": 2]])) == Decision.nothing)
    #expect(try Self.facts(.mergePatch(["new": ["a": .null, "b": 1]])) == Self.set("new", #"{"b":1}"#))
    #expect(try Self.facts(.mergePatch(["\u{7}": 1, "": 1])) == Decision.invalid("/\u{7}", "/"))
  }

  @Test("A JSON patch applies to the user's own values, and its result must be an object of values")
  func patches() throws {
    func facts(_ operations: JSON) throws -> Decision.Outcome {
      try Self.facts(.patch(try PatchDocument(operations)))
    }
    #expect(
      try facts([
        ["op": "move", "from": "/theme", "path": "/look"], ["op": "replace", "path": "/nested/a/b", "value": 7],
      ])
        == .facts(
          #"[{"type":"removed","payload":{"key":"theme"}},"#
            + #"{"type":"set","payload":{"key":"nested","value":{"a":{"b":7},"c":2}}},"#
            + #"{"type":"set","payload":{"key":"look","value":"dark"}}]"#
        )
    )
    #expect(try facts([["op": "test", "path": "/count", "value": 41]]) == Decision.nothing)
    #expect(try facts([["op": "test", "path": "/count", "value": 0]]) == .refused(.conflict))
    #expect(try facts([["op": "remove", "path": "/nothing"]]) == Decision.invalid("/0"))
    #expect(try facts([["op": "replace", "path": "", "value": []]]) == Decision.invalid(""))
    #expect(try facts([["op": "add", "path": "/theme", "value": .null]]) == Decision.invalid("/theme"))
    #expect(try facts([["op": "add", "path": "/", "value": 1]]) == Decision.invalid("/"))
  }

  // MARK: Limits

  @Test("Keys and values have exact limits")
  func bounds() throws {
    func set(key: Int = 1, value: Int = 2) throws -> Bool {
      let (key, value) = (String(repeating: "k", count: key), String(repeating: "v", count: value - 2))
      if case .facts = try Self.decision("set", #"{"key":"\#(key)","value":"\#(value)"}"#) { return true }
      return false
    }
    #expect(try set(key: 256) && !set(key: 257))
    #expect(try set(value: 256 * 1024) && !set(value: 256 * 1024 + 1))
  }

  @Test("Above the quota, a suite may not grow, but values may still be changed and removed")
  func quota() throws {
    let keys = DefaultsQuota(keys: 6)
    #expect(try Self.decision("set", #"{"key":"new","value":1}"#, quota: keys) == .refused(.quotaExceeded))
    #expect(try Self.decision("set", #"{"key":"theme","value":1}"#, quota: keys) == Self.set("theme", "1"))
    #expect(
      try Self.decision("merge", #"{"values":{"theme":null,"new":1}}"#, quota: keys) != .refused(.quotaExceeded)
    )
    let bytes = DefaultsQuota(bytes: Self.present.bytes)
    #expect(try Self.decision("set", #"{"key":"count","value":4}"#, quota: bytes) == Self.set("count", "4"))
    #expect(try Self.decision("set", #"{"key":"count","value":411}"#, quota: bytes) == .refused(.quotaExceeded))
    let lowered = DefaultsQuota(keys: 1, bytes: 1)
    #expect(try Self.decision("remove", #"{"key":"count"}"#, quota: lowered) != .refused(.quotaExceeded))
    #expect(try Self.decision("set", #"{"key":"count","value":1}"#, quota: lowered) == Self.set("count", "1"))
    #expect(try Self.decision("clear", "{}", quota: lowered) != .refused(.quotaExceeded))
  }

  @Test("An empty suite does not count, and above the limit no new suite is accepted")
  func suites() throws {
    var state = UserState(Suite.collection("standard"), .map(Self.present))
    state.collections[Suite.collection("empty")] = .map(MapState([], revision: 1))
    state.collections[CollectionName("profile")] = .map(Self.present)
    let payload = #"{"suite":"other","key":"a","value":1}"#
    #expect(try Self.decision("set", payload, quota: .init(suites: 2), in: state) == Self.set("a", "1"))
    #expect(try Self.decision("set", payload, quota: .init(suites: 1), in: state) == .refused(.quotaExceeded))
    #expect(
      try Self.decision("set", #"{"key":"a","value":1}"#, quota: .init(suites: 1), in: state) == Self.set("a", "1")
    )
    let nothing = #"{"suite":"other","values":{"a":null}}"#
    #expect(try Self.decision("merge", nothing, quota: .init(suites: 1), in: state) == Decision.nothing)
  }

  @Test("The predicted size after mutations equals the size of the resulting map")
  func sizes() {
    let facts: [[MapMutation]] = [
      [], [.cleared], [.removed(key: "theme")], [.removed(key: "nothing")],
      [.set(key: "count", value: EncodedJSON(text: "7"))],
      [.set(key: "n\u{E9}w", value: EncodedJSON(text: "[1]")), .removed(key: "big"), .removed(key: "none")],
    ]
    for facts in facts {
      var after = Self.present
      for fact in facts { after.apply(fact) }
      let size = Self.present.size(after: facts)
      #expect(size.count == after.count && size.bytes == after.bytes, "\(facts)")
    }
  }
}
