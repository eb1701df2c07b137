import LockstepJSON

/// A way to write the element at `/v1/<module>/<id>`.
public enum ElementVerb: String, Sendable, CaseIterable {
  /// `PUT`: replaces or adds the element.
  case put
  /// `PATCH`: changes some members of the element.
  case patch
  /// `PATCH` with a JSON patch (RFC 6902) as the body.
  case jsonPatch
  /// `DELETE`: removes the element.
  case delete
  /// `PUT /v1/<module>/<id>/position`: moves an element of a list.
  case move
}

/// The action that a verb performs. A string literal is the type of one of the module's actions.
public struct VerbAction<Action: Sendable>: Sendable, ExpressibleByStringLiteral {
  let type: String
  private(set) var own: ActionCase<Action>?

  /// The module's action of this type.
  public init(stringLiteral type: String) { self.type = type }

  /// An action for this verb only. The catalogue and `POST /v1/actions` do not have it.
  public static func unlisted(_ action: ActionCase<Action>) -> VerbAction {
    var verb = VerbAction(stringLiteral: action.type)
    verb.own = action
    return verb
  }
}

/// The action of a verb, in the form that the routes use.
package struct DeclaredVerb: Sendable {
  package let type: String
  /// The JSON Schema of the payload; nil if the module has no action of this type.
  package let payload: JSON?
  /// The members of the payload.
  package let members: Set<ExactText>
  /// The members of an element that the server ignores in a body. Clients may send them back.
  package let ignored: [String]
  package let read: @Sendable (_ payload: JSON, WorkBudget?) throws(Refusal) -> UserAction

  init<Action>(
    _ action: VerbAction<Action>,
    among listed: [ActionCase<Action>],
    element: JSON,
    make: @escaping @Sendable (_ type: String, _ payload: JSON, Action) -> UserAction
  ) {
    let found = action.own ?? listed.first { $0.type == action.type }
    type = action.type
    payload = found?.payload
    members = Set(found?.payload["properties"]?.objectValue?.names.map(\.exact) ?? [])
    let readOnly = (element["properties"]?.objectValue ?? JSONObject()).filter {
      $0.value["readOnly"]?.boolValue == true
    }
    // `GET` adds the member `index` to an element.
    ignored = (readOnly.map(\.name) + ["index"]).filter { [members] in !members.contains($0.exact) }
    read = { [type] payload, budget throws(Refusal) in
      guard let found else { throw .notFound("There is no such action.") }
      return make(type, payload, try found.read(payload, ClientNetwork(host: ""), budget))
    }
  }
}
