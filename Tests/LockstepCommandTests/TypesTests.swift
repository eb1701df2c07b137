import Foundation
import LockstepComposition
import LockstepTestSupport
import Testing

@testable import LockstepCommand

@Suite("Types are made from a server's catalogue", .timeLimit(.minutes(10)))
struct TypesTests {
  /// A catalogue with one module or screen.
  private static func catalogue(
    _ scope: String = "user",
    state: String,
    actions: String = "[]",
    more: String = ""
  ) throws -> CatalogueTypes {
    let item = #"{"name":"notes","scope":"\#(scope)","actions":\#(actions),"state":\#(state)\#(more)}"#
    return try CatalogueTypes(parsing: Array(#"{"items":[\#(item)]}"#.utf8))
  }

  private static func list(of element: String) throws -> CatalogueTypes {
    try catalogue(state: #"{"properties":{"cursor":{},"items":{"items":\#(element)}}}"#)
  }

  /// The generated Swift between the comment at the top and `JSONValue`.
  private static func swift(_ catalogue: CatalogueTypes) throws -> String {
    let file = SwiftTypes.file(catalogue)
    let begin = try #require(file.range(of: "disable all\n\n")?.upperBound)
    let end = try #require(file.range(of: "\n\n/// Any JSON value.")?.lowerBound)
    return String(file[begin..<end])
  }

  private static func typeScript(_ catalogue: CatalogueTypes) throws -> String {
    let file = TypeScriptTypes.file(catalogue)
    let collections = try #require(file.range(of: "export interface Collections {\n"))
    let end = try #require(file[collections.upperBound...].range(of: "\n}\n\n"))
    return String(file[end.upperBound...])
  }

  private static let element = """
    {"type":"object","required":["id","done","at"],"properties":{"id":{"type":"string"},"done":{"type":"boolean"},
    "text":{"type":"string"},"data":{},"at":{"type":"string","format":"date-time","readOnly":true}}}
    """

  @Test("An element is a struct or an interface, and its encoding leaves out what only the server sets")
  func elements() throws {
    let catalogue = try Self.list(of: Self.element)
    #expect(
      try Self.swift(catalogue) == """
        /// An element of the list `notes`.
        struct NotesElement: Codable, Identifiable, Equatable, Sendable {
          var id: String
          var done: Bool
          var text: String?
          var data: JSONValue?
          /// Format: date-time. Only the server sets this.
          var at: ServerTime?

          /// Leaves out what only the server sets.
          func encode(to _encoder: any Encoder) throws {
            var _container = _encoder.container(keyedBy: CodingKeys.self)
            try _container.encode(id, forKey: .id)
            try _container.encode(done, forKey: .done)
            try _container.encodeIfPresent(text, forKey: .text)
            try _container.encodeIfPresent(data, forKey: .data)
          }
        }
        """
    )
    #expect(
      try Self.typeScript(catalogue) == """
        /** An element of the list `notes`. */
        export interface NotesElement {
          readonly id: string
          readonly done: boolean
          readonly text?: string
          readonly data?: Json
          /** Format: date-time. Only the server sets this. */
          readonly at: string
        }

        """
    )
  }

  @Test("The TypeScript file lists all collections by name, but neither screens nor suites")
  func collections() throws {
    func item(_ name: String, _ scope: String, _ state: String) -> String {
      #"{"name":"\#(name)","scope":"\#(scope)","actions":[],"state":\#(state)}"#
    }
    func map(_ value: String) -> String {
      #"{"properties":{"cursor":{},"values":{"additionalProperties":\#(value)}}}"#
    }
    let items = [
      item("notes", "user", #"{"properties":{"cursor":{},"items":{"items":\#(Self.element)}}}"#),
      item("high-scores", "user", map(#"{"type":"integer"}"#)),
      item("defaults", "user", map("{}")),
      item("profile", "user", #"{"type":"object","properties":{"position":{"type":"string"}}}"#),
      item("login", "screen", #"{"type":"object","properties":{"username":{"type":"string"}}}"#),
    ]
    let catalogue = try CatalogueTypes(parsing: Array(#"{"items":[\#(items.joined(separator: ","))]}"#.utf8))
    #expect(
      TypeScriptTypes.file(catalogue).contains(
        """
        export interface Collections {
          lists: {
            notes: NotesElement
          }
          maps: {
            'high-scores': { readonly [key: string]: HighScoresValue }
            profile: ProfileState
          }
        }

        """
      )
    )
  }

  @Test("In TypeScript, the data of an element is required if its schema refuses null")
  func requiredData() throws {
    func add(_ data: String) throws -> String {
      let element = #"{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"data":\#(data)}}"#
      let actions = #"[{"type":"add","payload":\#(element)},{"type":"update","payload":\#(element)}]"#
      let state = #"{"properties":{"cursor":{},"items":{"items":\#(element)}}}"#
      return try Self.typeScript(Self.catalogue(state: state, actions: actions))
    }
    let required = try add(#"{"type":"integer"}"#)
    #expect(required.contains("readonly data: number"))
    #expect(required.contains("{ type: 'add'; payload: { id: string; data: number } }"))
    #expect(required.contains("{ type: 'update'; payload: { id: string; data?: number } }"))
    for schema in [#"{"type":["integer","null"]}"#, "{}"] { #expect(try add(schema).contains("readonly data?: ")) }
  }

  @Test("Actions are an enum or a union, without the members that the server ignores")
  func actions() throws {
    let actions = """
      [{"type":"add","payload":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},
      "text":{"type":["string","null"]},"at":{},"priority":{"type":"string","enum":["low","high"]}}}},
      {"type":"clear","payload":{"type":"object","properties":{},"additionalProperties":false}}]
      """
    let state = #"{"properties":{"cursor":{},"items":{"items":\#(Self.element)}}}"#
    let catalogue = try Self.catalogue(state: state, actions: actions)
    #expect(
      try Self.swift(catalogue).hasSuffix(
        """
        /// An action of the module `notes`. Encoded as `{"type", "payload"}`.
        enum NotesAction: Encodable, Equatable, Sendable {
          static let module = "notes"

          case add(id: String, text: String? = nil, priority: AddPriority? = nil)
          case clear

          func encode(to _encoder: any Encoder) throws {
            var _action = _encoder.container(keyedBy: MemberName.self)
            switch self {
            case .add(let id, let text, let priority):
              try _action.encode("add", forKey: "type")
              var _payload = _action.nestedContainer(keyedBy: MemberName.self, forKey: "payload")
              try _payload.encode(id, forKey: "id")
              if let text { try _payload.encode(text, forKey: "text") }
              if let priority { try _payload.encode(priority, forKey: "priority") }
            case .clear:
              try _action.encode("clear", forKey: "type")
              _ = _action.nestedContainer(keyedBy: MemberName.self, forKey: "payload")
            }
          }

          enum AddPriority: String, Codable, CaseIterable, Sendable {
            case low
            case high
          }
        }
        """
      )
    )
    #expect(
      try Self.typeScript(catalogue).hasSuffix(
        """
        /** An action of the module `notes`. */
        export type NotesAction =
          | { type: 'add'; payload: { id: string; text?: string | null; priority?: 'low' | 'high' } }
          | { type: 'clear'; payload?: Record<string, never> }

        """
      )
    )
  }

  @Test("In a change of an element, a member that may be removed stays as it is unless the action names it")
  func changes() throws {
    let actions = """
      [{"type":"update","payload":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},
      "text":{"type":["string","null"]},"due":{"type":["string","null"],"format":"date-time"},
      "done":{"type":"boolean"}}}}]
      """
    let state = #"{"properties":{"cursor":{},"items":{"items":\#(Self.element)}}}"#
    let swift = try Self.swift(Self.catalogue(state: state, actions: actions))
    #expect(
      swift.contains(
        "  case update(id: String, text: MemberChange<String> = .keep, due: MemberChange<ServerTime> = .keep, "
          + "done: Bool? = nil)\n"
      )
    )
    #expect(swift.contains("\n      try _payload.encode(text, forKey: \"text\")\n"))
    #expect(swift.contains("\n      if let done { try _payload.encode(done, forKey: \"done\") }\n"))
    // Any other action has optionals, because null is the same as no member there.
    let other = try Self.swift(Self.catalogue(state: "{}", actions: actions))
    #expect(
      other.contains("  case update(id: String, text: String? = nil, due: ServerTime? = nil, done: Bool? = nil)\n")
    )
  }

  @Test("A screen has a state whose choices have room for new values, and the arguments that it opens with")
  func screens() throws {
    let state = """
      {"type":"object","required":["check"],"properties":{"check":{"type":"object","required":["kind"],"properties":{
      "kind":{"type":"string","enum":["ok","failed"]}}},"error":{"type":"string"}}}
      """
    let arguments = #","arguments":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#
    let catalogue = try Self.catalogue("screen", state: state, more: arguments)
    #expect(
      try Self.swift(catalogue) == """
        /// The state of the screen `notes`.
        struct NotesState: Codable, Equatable, Sendable {
          var check: Check
          var error: String?

          struct Check: Codable, Equatable, Sendable {
            var kind: Kind

            struct Kind: RawRepresentable, Codable, Hashable, Sendable {
              static let ok = Kind(rawValue: "ok")
              static let failed = Kind(rawValue: "failed")

              /// A newer server may have other values.
              var rawValue: String
            }
          }
        }

        /// Opens the screen `notes`.
        struct NotesArguments: Codable, Identifiable, Equatable, Sendable {
          var id: String
        }
        """
    )
    #expect(try Self.typeScript(catalogue).contains("kind: 'ok' | 'failed'"))
  }

  @Test("A name keeps its identifier, and other names that give the same one get a number")
  func names() throws {
    let names = ["a b", "aB", "a-b", "class", "self", "1", "", "*/", "名前", "\u{202e}"]
    let members = names.map { #""\#($0)":{"type":"string"}"# }
    let swift = try Self.swift(Self.list(of: #"{"type":"object","properties":{\#(members.joined(separator: ","))}}"#))
    for member in ["aB2", "aB", "aB3", "`class`", "self2", "_1", "member", "member2", "名前", "member3"] {
      #expect(swift.contains("  var \(member): String?\n"))
    }
    #expect(swift.contains(#"case aB2 = "a b""#) && swift.contains(#"case member3 = "\u{202e}""#))
  }

  @Test("A member of a payload may have a name that the encoding uses")
  func payloadNames() throws {
    let names = ["MemberName", "_action", "_encoder", "_payload", "MemberName2"]
    let members = names.map { #""\#($0)":{"type":"string"}"# }
    let actions = #"[{"type":"add","payload":{"type":"object","properties":{\#(members.joined(separator: ","))}}}]"#
    let swift = try Self.swift(Self.catalogue(state: "{}", actions: actions))
    #expect(swift.contains("case .add(let MemberName2, let _action2, let _encoder2, let _payload2, let MemberName22):"))
    #expect(swift.contains(#"if let MemberName2 { try _payload.encode(MemberName2, forKey: "MemberName") }"#))
  }

  @Test("Objects with an id are identifiable, and the actions of screens fit those of LockstepClient")
  func identities() throws {
    let state = """
      {"type":"object","properties":{"route":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}},
      "tag":{"type":"object","properties":{"id":{"type":"string"}}}}}
      """
    let actions = #"[{"type":"tap","payload":{}}]"#
    let screen = SwiftTypes.file(try Self.catalogue("screen", state: state, actions: actions))
    #expect(screen.contains("  struct Route: Codable, Identifiable, Equatable, Sendable {\n"))
    #expect(screen.contains("  struct Tag: Codable, Equatable, Sendable {\n"))
    let end =
      "\n#if canImport(LockstepClient)\nimport LockstepClient\n\nextension NotesAction: ScreenAction {}\n#endif\n"
    #expect(screen.hasSuffix(end))
    #expect(!SwiftTypes.file(try Self.catalogue(state: state, actions: actions)).contains("LockstepClient)"))
  }

  @Test("A map has the type of its values, and an object has its keys")
  func maps() throws {
    let map = try Self.catalogue(
      state: #"{"properties":{"cursor":{},"values":{"additionalProperties":{"type":"integer"}}}}"#
    )
    #expect(try Self.swift(map) == "/// A value of the map `notes`.\ntypealias NotesValue = Int")
    #expect(
      try Self.typeScript(map) == "/** A value of the map `notes`. */\nexport type NotesValue = number\n"
    )
    let object = try Self.catalogue(
      state: #"{"type":"object","properties":{"theme":{"type":"string"},"font-size":{"type":"number"}}}"#
    )
    #expect(
      try Self.swift(object).hasSuffix(
        """
        /// The keys of the map `notes`.
        enum NotesKey: String, CaseIterable, Sendable {
          case theme
          case fontSize = "font-size"
        }
        """
      )
    )
    #expect(try Self.typeScript(object).hasSuffix("export type NotesKey = keyof NotesState\n"))
  }

  @Test(
    "A schema without a type becomes JSON, and the comment says why",
    arguments: [
      (#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#, "the schema has anyOf"),
      (#"{"allOf":[{"type":"string"}]}"#, "the schema has allOf"),
      (#"{"type":["string","integer"]}"#, "the schema allows several types"),
      (#"{"type":"null"}"#, "the schema allows only null"), (#"{"type":"date"}"#, "the schema has an unknown type"),
      (#"{"enum":[1,2]}"#, "the schema allows only some values"), (#"{"not":{"type":"string"}}"#, "the schema has not"),
      (#"{"$ref":"https://a.example/b"}"#, "the schema refers to another document"),
      (##"{"$ref":"#/properties/value"}"##, "the schema refers to itself"),
      ("7", "the schema allows no value, or is invalid"),
    ]
  )
  func inexpressible(schema: String, reason: String) throws {
    let schema = #"{"type":"object","properties":{"value":\#(schema)}}"#
    let catalogue = try Self.list(of: schema)
    #expect(try Self.swift(catalogue).contains("  /// JSON, because \(reason).\n  var value: JSONValue?\n"))
    #expect(try Self.typeScript(catalogue).contains("  /** JSON, because \(reason). */\n  readonly value?: Json\n"))
  }

  @Test(
    "These schemas have a type",
    arguments: [
      (#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, "String?", "string | null"),
      (#"{"type":["null","number"]}"#, "Double?", "number | null"), ("true", "JSONValue", "Json"),
      (#"{"not":{"type":"null"}}"#, "JSONValue", "Json"), (#"{"type":"array"}"#, "[JSONValue]", "ReadonlyArray<Json>"),
      (#"{"type":"array","items":{"type":["integer","null"]}}"#, "[Int?]", "ReadonlyArray<number | null>"),
      (#"{"type":"object"}"#, "[String: JSONValue]", "{ readonly [name: string]: Json }"),
      (##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"boolean"}}}"##, "Bool", "boolean"),
    ]
  )
  func expressible(schema: String, swift: String, typeScript: String) throws {
    let catalogue = try Self.list(of: #"{"type":"object","required":["value"],"properties":{"value":\#(schema)}}"#)
    #expect(try Self.swift(catalogue).contains("\n  var value: \(swift)\n"))
    #expect(try Self.typeScript(catalogue).contains("\n  readonly value: \(typeScript)\n"))
  }

  @Test("A schema that would never end, or that is too deep or too large, ends in JSON")
  func bounds() throws {
    let recursive = ##"{"$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##
    #expect(try Self.swift(Self.list(of: recursive)).contains("JSON, because the schema refers to itself."))
    // Each definition uses the next one twice.
    let definitions = (0..<22).map {
      ##""d\##($0)":{"properties":{"a":{"$ref":"#/$defs/d\##($0 + 1)"},"b":{"$ref":"#/$defs/d\##($0 + 1)"}}}"##
    }
    let growing = "{\"$defs\":{\(definitions.joined(separator: ","))},\"$ref\":\"#/$defs/d0\"}"
    #expect(SwiftTypes.file(try Self.list(of: growing)).utf8.count < 20_000_000)
    let deep = String(repeating: #"{"properties":{"a":"#, count: 40) + "{}" + String(repeating: "}}", count: 40)
    #expect(try Self.swift(Self.list(of: deep)).contains("JSON, because the schema is nested too deeply."))
    let names = (0..<10_000).map { #""m\#($0)":{"type":"string","enum":["a"]}"# }
    let wide = #"{"type":"object","properties":{\#(names.joined(separator: ","))}}"#
    #expect(try Self.swift(Self.list(of: wide)).contains("  var m9999: M9999?\n"))
  }

  @Test("A switch over more actions than the compiler can check has a default", arguments: [(400, false), (401, true)])
  func manyActions(count: Int, hasDefault: Bool) throws {
    let actions = (0..<count).map { #"{"type":"a\#($0)","payload":{}}"# }
    let catalogue = try Self.catalogue(state: "{}", actions: "[\(actions.joined(separator: ","))]")
    #expect(try Self.swift(catalogue).contains("\n    default: break\n") == hasDefault)
  }

  @Test("A hostile catalogue gives the same text each time, and no line that its names could begin")
  func hostile() throws {
    let catalogue = try CatalogueTypes(parsing: hostileCatalogue)
    for file in [SwiftTypes.file, TypeScriptTypes.file] {
      let text = file(catalogue)
      #expect(text == file(try CatalogueTypes(parsing: hostileCatalogue)))
      #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !Terminal.isControl($0) })
      #expect(!text.contains("\nlet x") && !text.contains("\n}\n let y"))
    }
    // Outside of string literals, a comment ends only where the generator ends it.
    let typeScript = TypeScriptTypes.file(catalogue)
    for line in typeScript.split(separator: "\n") where line.contains("/** ") {
      #expect(line.components(separatedBy: "*/").count <= 2 || line.contains("'"), "\(line)")
    }
  }

  @Test(
    "A text that is no catalogue is an error that says why",
    arguments: [
      ("<html>", "it is not JSON: "), ("", "it is not JSON: "), ("[]", "it has no items"),
      (#"{"items":{}}"#, "it has no items"),
      (#"{"items":[7]}"#, "one of its items has no name"),
      (#"{"items":[{"name":"a\u001b","actions":[{}]}]}"#, #"an action of “a\u{1b}” has no type"#),
      (String(repeating: "[", count: 100_000), "it is not JSON: "),
    ]
  )
  func invalid(text: String, reason: String) throws {
    let error = #expect(throws: CommandError.self) { try CatalogueTypes(parsing: Array(text.utf8)) }
    #expect(error?.code == .data)
    #expect(error?.description.contains("is not the catalogue of a Lockstep server: \(reason)") == true)
  }
}
