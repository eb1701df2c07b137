import LockstepCollections
import LockstepJSON

/// `GET /v1/reactors`: the modules of users and the kinds of screens.
package enum Catalogue {
  /// `starts` are the addresses of the screens that need no link to open them.
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
