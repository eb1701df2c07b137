import LockstepJSON

/// The action that an HTTP method on an element's address performs.
package struct DeclaredVerb: Sendable {
  /// The type of the action.
  package let type: String
  /// The members of its payload.
  package let members: Set<String>
  /// The members of an element that clients cannot choose. Clients may send them back unchanged;
  /// the server ignores them.
  package let passedOver: Set<String>

  /// Makes the verbs of a declaration.
  ///
  /// - Parameters:
  ///   - types: The type of the action for each verb.
  ///   - cases: The actions of the module.
  ///   - element: The JSON Schema of an element.
  /// - Returns: The verbs. A verb whose action does not exist has no members.
  static func verbs<Action>(
    _ types: [ElementVerb: String],
    _ cases: [ActionCase<Action>],
    element: JSON = [:]
  ) -> [ElementVerb: DeclaredVerb] {
    let readOnly = (element["properties"]?.objectValue ?? JSONObject()).filter {
      $0.value["readOnly"]?.boolValue == true
    }
    // `GET` adds the index.
    let served = Set(readOnly.map(\.name) + ["index"])
    return types.mapValues { type in
      let payload = cases.first { $0.type == type }?.payload
      let members = Set(payload?["properties"]?.objectValue?.names ?? [])
      return DeclaredVerb(type: type, members: members, passedOver: served.subtracting(members))
    }
  }
}
