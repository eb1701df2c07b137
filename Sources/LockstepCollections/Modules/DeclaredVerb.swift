import LockstepJSON

/// The action that a verb on an element's address stands for.
package struct DeclaredVerb: Sendable {
  /// The action's type.
  package let type: String
  /// The members of its payload.
  package let members: Set<String>
  /// The members of an element that aren't for clients to choose. They may send them back as they got them, and nothing is
  /// done with them.
  package let passedOver: Set<String>

  /// The verbs of a declaration, by the actions' types.
  ///
  /// - Parameters:
  ///   - types: The actions' types, by the verbs.
  ///   - cases: The actions.
  ///   - element: The JSON Schema of an element.
  /// - Returns: The verbs, also those whose action isn't there, without members.
  static func verbs<Action>(
    _ types: [ElementVerb: String],
    _ cases: [ActionCase<Action>],
    element: JSON = [:]
  ) -> [ElementVerb: DeclaredVerb] {
    let readOnly = (element["properties"]?.objectValue ?? JSONObject()).filter {
      $0.value["readOnly"]?.boolValue == true
    }
    // Its place `GET` adds.
    let served = Set(readOnly.map(\.name) + ["index"])
    return types.mapValues { type in
      let payload = cases.first { $0.type == type }?.payload
      let members = Set(payload?["properties"]?.objectValue?.names ?? [])
      return DeclaredVerb(type: type, members: members, passedOver: served.subtracting(members))
    }
  }
}
