import LockstepCollections
import LockstepJSON

/// `GET /v1/reactors`: the modules of users and the kinds of screens.
package enum Catalogue {
  package static func document(modules: [UserModule], screens: [ScreenDeclaration]) -> JSON {
    let users = modules.map { module -> JSON in
      var entry: JSONObject = ["name": .string(module.name), "scope": "user", "auth": true]
      if let description = module.description { entry["description"] = .string(description) }
      entry["actions"] = module.actions
      entry["state"] = module.writtenState ?? module.state
      return .object(entry)
    }
    let screens = screens.map { screen -> JSON in
      [
        "name": .string(screen.name), "scope": "screen", "auth": .bool(screen.needsSession),
        "href": .string(ScreenLink(screen.name).href), "start": .bool(screen.isStart),
        "arguments": screen.arguments, "actions": screen.actions, "state": screen.state,
      ]
    }
    return ["items": .array(users + screens)]
  }
}
