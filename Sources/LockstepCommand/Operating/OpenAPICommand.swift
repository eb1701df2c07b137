import Lockstep
import LockstepCollections

/// `lockstep openapi`: the description of this server's routes, for whoever makes a client of it.
enum OpenAPICommand {
  static let form = CommandSyntax<Configuration>(
    name: "openapi",
    summary: "Print the OpenAPI description.",
    about: """
      Print what a server answers GET /openapi.json with: every route, what it takes and what it answers, in OpenAPI 3.1.
      """,
    notes: """
      No server and no store is needed. Programs make clients of it:  lockstep openapi > openapi.json
      """,
    // Those that make a difference to what is taken.
    options: ServeOptions.all.filter { $0.name == "--password-min" }
  )

  /// The command of a server that keeps these modules for users besides its own.
  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(form, Configuration()) { configuration in
      try Terminal.show(LockstepServer.openAPI(configuration, modules: modules) + "\n".utf8)
      return .success
    }
  }
}
