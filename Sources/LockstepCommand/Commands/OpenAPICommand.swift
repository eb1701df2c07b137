import LockstepComposition

/// `lockstep openapi`: prints the OpenAPI description of this server's routes.
enum OpenAPICommand {
  static let syntax = CommandSyntax<Configuration>(
    name: "openapi",
    summary: "Print the OpenAPI description.",
    about: """
      Print the response of GET /openapi.json: every route with its parameters and responses, in OpenAPI 3.1.
      """,
    notes: """
      The command needs no server and no store, and ignores --data and --store.
      For a client generator:  lockstep openapi > openapi.json
      """,
    // Only the first option changes the description. The others are those of all commands.
    options: [ServeOptions.passwordMinimum, .data, .store],
    exclusive: [storeOptionNames]
  )

  static func entry(_ modules: [UserModule], _ screens: [ScreenDeclaration]) -> CommandEntry {
    CommandEntry(syntax) { configuration in
      try Terminal.show(LockstepServer.openAPI(configuration, modules: modules, screens: screens) + "\n".utf8)
      return .success
    }
  }
}
