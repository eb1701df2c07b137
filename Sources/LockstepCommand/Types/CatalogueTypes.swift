import LockstepComposition

/// The types of a server's catalogue: the response to `GET /v1/reactors`.
struct CatalogueTypes: Equatable {
  struct Reactor: Equatable {
    let name: String
    let content: Content
    let actions: [Action]
  }

  enum Content: Equatable {
    case list(element: SchemaType)
    case map(value: SchemaType)
    /// A module whose state is one object with fixed members.
    case object(SchemaType)
    case screen(state: SchemaType, arguments: SchemaType)
  }

  struct Action: Equatable {
    let type: String
    let payload: SchemaType
  }

  let reactors: [Reactor]

  /// Throws a `CommandError` if the text is not a catalogue.
  init(parsing text: [UInt8]) throws(CommandError) {
    let document: JSON
    do throws(JSONParseError) {
      document = try JSON(parsing: text)
    } catch {
      throw Self.error("it is not JSON: \(error)")
    }
    try self.init(document)
  }

  init(_ document: JSON) throws(CommandError) {
    guard let items = document["items"]?.arrayValue else { throw Self.error("it has no items") }
    var reader = SchemaReader()
    var reactors: [Reactor] = []
    for item in items {
      guard let name = item["name"]?.stringValue else { throw Self.error("one of its items has no name") }
      let content = Self.content(of: item, &reader)
      var actions: [Action] = []
      for action in item["actions"]?.arrayValue ?? [] {
        guard let type = action["type"]?.stringValue else {
          throw Self.error("an action of “\(Terminal.harmless(String(name.prefix(100))))” has no type")
        }
        let payload = reader.type(of: action["payload"] ?? true)
        actions.append(Action(type: type, payload: Self.payload(payload, of: content)))
      }
      reactors.append(Reactor(name: name, content: content, actions: actions))
    }
    self.reactors = reactors
  }

  private static func content(of item: JSON, _ reader: inout SchemaReader) -> Content {
    let state = item["state"] ?? true
    if item["scope"] == "screen" {
      let arguments = item["arguments"].map { reader.type(of: $0) } ?? SchemaType(kind: .object([]))
      return .screen(state: reader.type(of: state), arguments: arguments)
    }
    // A state with a cursor is a collection.
    let properties = state["properties"]
    if properties?["cursor"] != nil, let items = properties?["items"]?["items"] {
      return .list(element: reader.type(of: items))
    }
    if properties?["cursor"] != nil, let values = properties?["values"] {
      return .map(value: reader.type(of: values["additionalProperties"] ?? true))
    }
    return .object(reader.type(of: state))
  }

  /// Leaves out the members that the server sets and ignores in a payload.
  private static func payload(_ payload: SchemaType, of content: Content) -> SchemaType {
    guard case .list(let element) = content, case .object(let members) = element.kind,
      case .object(let sent) = payload.kind
    else { return payload }
    let ignored = Set(members.filter(\.isReadOnly).map(\.name))
    let rest = sent.filter { $0.isRequired || !ignored.contains($0.name) }
    return SchemaType(kind: .object(rest), isNullable: payload.isNullable)
  }

  private static func error(_ reason: String) -> CommandError {
    CommandError(.data, "the response is not the catalogue of a Lockstep server: \(reason).")
  }
}
