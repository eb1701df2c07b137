import LockstepCollections
import LockstepJSON

/// `GET /v1/reactors`: all reactors, those of users and those of screens.
package enum Catalogue {
  /// The document of all modules of users, of all kinds of screens, and of the addresses where one enters.
  package static func document(modules: [UserModule], screens: [ScreenKind], starts: Set<String>) -> JSON {
    let users = modules.map { module -> JSON in
      [
        "name": .string(module.name), "scope": "user", "auth": true, "actions": module.actions, "state": module.state,
      ]
    }
    let screens = screens.map { screen -> JSON in
      let href = "/v1/reactors/\(screen.name)"
      return [
        "name": .string(screen.name), "scope": "screen", "auth": .bool(screen.needsSession), "href": .string(href),
        "start": .bool(starts.contains(href)), "arguments": screen.arguments, "actions": screen.actions,
        "state": screen.state,
      ]
    }
    return ["items": .array(users + screens)]
  }
}
