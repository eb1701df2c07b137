import LockstepComposition
import LockstepHTTP
import LockstepHTTPClient
import LockstepScreens
import LockstepThreading

/// `lockstep swift` and `lockstep typescript`: print the types of a server's catalogue.
enum TypesCommand {
  struct Settings: CommandSettings {
    var url: UpstreamURL?
    var timeout = Duration.seconds(15)
  }

  static let swift = entry(
    name: "swift",
    language: "Swift",
    notes: """
      Elements of lists and states of screens become structs, and actions become enums. Pass them to
      LockstepClient. The file compiles on Linux and on Apple systems, also without LockstepClient:

        lockstep swift --url https://state.example.com > Sources/App/ServerTypes.swift
      """,
    file: SwiftTypes.file
  )

  static let typeScript = entry(
    name: "typescript",
    language: "TypeScript",
    notes: """
      Elements of lists and states of screens become interfaces, and actions become unions. The
      interface Collections has all of them by name. With new Lockstep<Collections>(…), TypeScript
      checks the names of collections and the contents of writes:

        lockstep typescript --url https://state.example.com > src/server-types.ts
      """,
    file: TypeScriptTypes.file
  )

  private static func entry(
    name: String,
    language: String,
    notes: String,
    file: @escaping @Sendable (CatalogueTypes) -> String
  ) -> CommandEntry {
    let syntax = CommandSyntax<Settings>(
      name: name,
      summary: "Print \(language) types for the clients of a server.",
      about: """
        Print \(language) types for the clients of a server, made from its catalogue at /v1/reactors.
        """,
      notes: notes + """


        The same catalogue always gives the same text. A part of the catalogue that \(language) cannot express
        becomes JSON, with a comment. Exits with code 69 if the server does not respond with 200, and with
        code 65 if the response is not a catalogue.
        """,
      options: [
        CommandOption("--url", \.url, .upstreamURL, isSecret: true, hasVariable: false)
          .help(
            "The server's URL, such as https://state.example.com or http://127.0.0.1:8080. Required. If a proxy needs "
              + "Basic authentication, give its user name and password in the URL. The catalogue itself needs none."
          ),
        CommandOption("--timeout", \.timeout, .time(), hasVariable: false)
          .help("How long to wait for the whole response."),
      ]
    )
    return CommandEntry(syntax) { settings in
      guard let url = settings.url else {
        throw OptionParser.UsageError(message: "--url is missing: --url <URL>.")
      }
      if url.text.contains("?") {
        throw OptionParser.UsageError(message: "--url cannot have a query. Give the server's URL alone.")
      }
      try Terminal.show(file(CatalogueTypes(parsing: fetch(url, within: settings.timeout))))
      return .success
    }
  }

  /// More than a hundred times the catalogue of a large server.
  private static let largestCatalogue = 8 * 1_048_576

  private static func fetch(_ url: UpstreamURL, within timeout: Duration) throws -> [UInt8] {
    var configuration = HTTPClient.Configuration(userAgent: "lockstep/\(lockstepVersion)")
    configuration.bounds.totalTime = timeout
    configuration.bounds.responseBytes = largestCatalogue
    let client = try HTTPClient(configuration)
    defer { client.shutDown() }
    let target = (url.text.last == "/" ? String(url.text.dropLast()) : url.text) + "/v1/reactors"
    let response = try CurrentThread.run { () async throws -> TransferResponse in
      do {
        return try await client.get(target)
      } catch let error as TransferError {
        let reason =
          error.kind == .tooLong
          ? "its response is longer than \(sizeText(largestCatalogue))" : Terminal.harmless(error.detail)
        throw CommandError(.unavailable, "\(url) gave no catalogue: \(reason).")
      }
    }
    switch response.status {
    case 200: return response.body
    case 300..<400:
      throw CommandError(
        .unavailable,
        "\(url) responded with the redirect \(response.status). Give the URL that it leads to."
      )
    case 401, 403:
      throw CommandError(
        .noPermission,
        "\(url) responded with \(response.status). The catalogue of a Lockstep server is public, so a proxy in front of "
          + "it refuses the request. Give the user name and the password in the URL."
      )
    default:
      throw CommandError(.unavailable, "\(url) responded with \(response.status) instead of its catalogue.")
    }
  }
}
