import Foundation
import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("The types that the command prints compile, and read what the server sends", .timeLimit(.minutes(10)))
struct TypesTests {
  /// The compiler that has built this test, or the first one on the path.
  private static func compiler() throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let places = path.split(separator: ":").map { "\($0)/swiftc" }
    return try #require(places.first { access($0, X_OK) == 0 }, "There is no swiftc on the path.")
  }

  private static let flags = ["-swift-version", "6", "-warnings-as-errors"]

  /// Prints the types of a server on loopback into a file of the folder, and returns its path.
  private static func types(_ language: String, port: Int, in folder: TemporaryDirectory) async throws -> String {
    let arguments = [language, "--url", "http://127.0.0.1:\(port)", "--timeout", "5m"]
    var process = try LockstepProcess(arguments, in: folder, name: "types")
    // The command gives up if it has no connection after 5 seconds, which may happen beside all
    // other tests.
    for _ in 0..<20 {
      let end = await process.ended()
      if end == .exit(0) { break }
      try #require(end == .exit(69), "\(end): \(process.errors)")
      process = try LockstepProcess(arguments, in: folder, name: "types")
    }
    try folder.write(Array(process.output.utf8), to: "Types.swift")
    return folder.file("Types.swift")
  }

  @Test("The types of the built-in server compile, and are the same each time")
  func builtIn() async throws {
    let folder = try TemporaryDirectory()
    let (server, port) = try await LockstepProcess.serving(in: folder)
    let file = try await Self.types("swift", port: port, in: folder)
    let first = try folder.contents(of: "Types.swift")
    _ = try await Self.types("swift", port: port, in: folder)
    #expect(try folder.contents(of: "Types.swift") == first)
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    _ = try await ChildProcess.run([try Self.compiler(), "-typecheck"] + Self.flags + [file])
  }

  /// Uses the types with LockstepClient.
  private static let app = """
    import LockstepClient

    func use(_ client: LockstepClient) async throws {
      let favorites = client.list("favorites", of: FavoritesElement.self)
      try await favorites.add(FavoritesElement(id: "photo:1", title: "Aurora"))
      let title: String? = favorites.elements.first?.title
      let added: ServerTime? = favorites.elements.first?.addedAt
      print(added?.date?.timeIntervalSince1970 ?? 0)
      let shopping = client.list(ShoppingAction.module, of: ShoppingElement.self)
      try await client.perform { transaction in
        try transaction.perform(ShoppingAction.add(id: "milk", name: title ?? "Milk"), in: ShoppingAction.module)
        try transaction.perform(FavoritesAction.update(id: "photo:1", title: nil), in: FavoritesAction.module)
        try transaction.perform(FavoritesAction.update(id: "photo:1", title: "Aurora"), in: FavoritesAction.module)
        try transaction.perform(DefaultsAction.increment(key: "opened", by: 1), in: DefaultsAction.module)
      }
      let position: String? = client.map("profile").value(ProfileKey.position.rawValue)
      let empty = ShoppingFormState(
        name: "", amount: "", validatedName: .init(kind: .empty, message: ""),
        validatedAmount: .init(kind: .empty, message: ""), saveEnabled: false, isSaving: false
      )
      let form = client.screen(ShoppingFormAction.screen, initially: empty, actions: ShoppingFormAction.self)
      form.send(.setName(value: position ?? shopping.name))
      for await route in form.pulses(\\.route) { print(route.value.href) }
    }

    """

  @Test("The types of a server with modules and screens of its own compile with LockstepClient")
  func client() async throws {
    let folder = try TemporaryDirectory()
    let shop = try await Shop(in: folder)
    let types = try await Self.types("swift", port: shop.port, in: folder)
    await shop.stop()
    try folder.write(Array(Self.app.utf8), to: "App.swift")
    let modules = LockstepProcess.path(of: "Modules")
    let places = ["-I", modules, "-I", "\(Self.root)/Sources/CLockstepSQLite"]
    let files = [folder.file("App.swift"), types]
    _ = try await ChildProcess.run([try Self.compiler(), "-typecheck"] + places + Self.flags + files)
  }

  /// The root of the repository.
  private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  /// The entry of a module in the catalogue of a server.
  private static func catalogueItem(of module: String, binary: String) async throws -> JSON {
    let (process, port) = try await LockstepProcess.serving(in: try TemporaryDirectory(), binary: binary)
    let catalogue = try JSON(parsing: try await Shop.ask(port, "GET", "/v1/reactors", nil, []).body)
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
    return try #require(catalogue["items"]?.arrayValue?.first { $0["name"] == .string(module) })
  }

  @Test("The types that OwnListTests uses with the Swift client are those that the command prints")
  func ownLists() async throws {
    let items = [
      try await Self.catalogueItem(of: "notes", binary: "NewProject"),
      try await Self.catalogueItem(of: "shopping", binary: "ShoppingScreens"),
    ]
    let (folder, server) = (try TemporaryDirectory(), try RawServer())
    let catalogue = JSON.object(["items": .array(items)]).description
    async let responded: Void = aside { server.respondOnce(Self.response("200 OK", catalogue)) }
    let printed = try String(
      contentsOfFile: try await Self.types("swift", port: server.port, in: folder),
      encoding: .utf8
    )
    await responded
    let file = "\(Self.root)/Tests/LockstepServerTestingTests/OwnListTypes.swift"
    let kept = try String(contentsOfFile: file, encoding: .utf8)
    if printed != kept {
      Issue.record("Replace the contents of \(file) by the types that the command prints now:\n\(printed)")
    }
  }

  /// An action of its own for the module of a new project.
  private static let action = """
      enum Action: Sendable {
        case edit(Mutation)
        case clearDone
      }

      static let actions = Actions(edits: Action.edit, ActionCase("clearDone") { .clearDone })

      func decide(_ action: Action, _ notes: List<Note>) throws(Refusal) -> [Mutation] {
        switch action {
        case .edit(let mutation): return [mutation]
        case .clearDone: return notes.filter(\\.isDone).map { .remove(id: $0.id) }
        }
      }
    }

    """

  @Test("The module that `lockstep new` writes compiles with an action of its own")
  func newProjectWithAction() async throws {
    let folder = try TemporaryDirectory()
    let template = "\(Self.root)/templates/project/Sources/Server/Notes.swift"
    let module = try String(contentsOfFile: template, encoding: .utf8)
    let end = try #require(module.range(of: "  /// Decides on a change that a client proposes.")?.lowerBound)
    try folder.write(Array((module[..<end] + Self.action).utf8), to: "Notes.swift")
    let sources = "\(Self.root)/Sources"
    let libraries = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0.hasPrefix("CLockstep") }
    let places = ([LockstepProcess.path(of: "Modules")] + libraries.map { "\(sources)/\($0)" }).flatMap { ["-I", $0] }
    let files = [folder.file("Notes.swift")]
    _ = try await ChildProcess.run([try Self.compiler(), "-typecheck"] + places + Self.flags + files)
  }

  @Test("The types of a hostile catalogue compile")
  func hostile() async throws {
    let (folder, server) = (try TemporaryDirectory(), try RawServer())
    let catalogue = String(decoding: hostileCatalogue, as: UTF8.self)
    async let responded: Void = aside { server.respondOnce(Self.response("200 OK", catalogue)) }
    let file = try await Self.types("swift", port: server.port, in: folder)
    await responded
    _ = try await ChildProcess.run([try Self.compiler(), "-typecheck", "-swift-version", "6", file])
  }

  /// Reads what the server has sent, and prints actions and the elements that it has read.
  private static let program = """
    import Foundation

    func read<Value: Decodable>(_ type: Value.Type, _ file: String) throws -> Value {
      try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1] + "/" + file)))
    }

    func show(_ value: some Encodable) throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// The constraints of LockstepClient on an element.
    func elements<Element: Codable & Identifiable & Equatable & Sendable>(_ list: Page<Element>) -> [Element]
    where Element.ID == String { list.items }

    struct Page<Element: Decodable>: Decodable { var items: [Element] }
    struct Shown<State: Decodable>: Decodable { var state: State }

    let favorites = elements(try read(Page<FavoritesElement>.self, "favorites"))
    precondition(favorites[0].title == "Aurora" && favorites[0].data == ["stars": [1, 2.5, true]])
    precondition(favorites[0].addedAt != nil)
    try show(favorites)
    let shopping = elements(try read(Page<ShoppingElement>.self, "shopping"))
    precondition(shopping[0].amount == 2 && shopping[0].isBought == false)
    try show(shopping)
    let profile = try read(ProfileState.self, "profile")
    precondition(profile.position == "Chief" && profile.companyName == nil)
    precondition(ProfileKey.allCases.map(\\.rawValue) == ["companyName", "position"])
    let login = try read(Shown<LoginState>.self, "login").state
    precondition(login.usernameValidation.kind == .empty && login.session == nil && !login.isLoginEnabled)
    let photo = try read(Shown<PhotoDetailState>.self, "photoDetail").state
    precondition(photo.photoId == "photo:1" && photo.isFavorite)
    try show(PhotoDetailArguments(photoId: "photo:1"))
    try show([ShoppingAction.add(id: "tea", name: "Tea", amount: 3), .update(id: "milk", isBought: true), .clearBought])
    try show([FavoritesAction.update(id: "photo:1", title: .clear), .move(id: "photo:1", index: 0)])
    try show([DefaultsAction.set(key: "theme", value: ["dark": true])])
    try show([LoginAction.setUsername(value: "ada"), .setPassword(value: "correct horse")])
    print(ShoppingAction.module, LoginAction.screen)

    """

  /// Runs a program with what a server has sent. Returns the lines that it has printed.
  private static func run(_ text: String, in folder: TemporaryDirectory, types: String) async throws -> [String] {
    try folder.write(Array(text.utf8), to: "main.swift")
    let program = folder.file("program")
    let files = [folder.file("main.swift"), types]
    _ = try await ChildProcess.run([try compiler(), "-Onone", "-o", program] + flags + files)
    let output = try await ChildProcess.run([program, folder.file("")])
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test("A program reads the server's JSON with the types, and the server accepts the actions that it makes")
  func roundTrip() async throws {
    let folder = try TemporaryDirectory()
    let shop = try await Shop(in: folder)
    let (post, put) = ("POST", "PUT")
    #expect(try await shop.ask(put, "/v1/shopping/milk", #"{"name":"Milk","amount":2}"#).status == 201)
    let favorite = #"{"title":"Aurora","data":{"stars":[1,2.5,true]}}"#
    #expect(try await shop.ask(put, "/v1/favorites/photo:1", favorite).status == 201)
    #expect(try await shop.ask("PATCH", "/v1/profile", #"{"position":"Chief"}"#).status == 200)
    for name in ["favorites", "shopping", "profile"] {
      try folder.write(try await shop.ask("GET", "/v1/\(name)").body, to: name)
    }
    for (name, body) in [("login", "{}"), ("photoDetail", #"{"arguments":{"photoId":"photo:1"}}"#)] {
      let opened = try await shop.ask(post, "/v1/reactors/\(name)", body)
      #expect(opened.status == 201)
      try folder.write(opened.body, to: name)
    }

    let types = try await Self.types("swift", port: shop.port, in: folder)
    let lines = try await Self.run(Self.program, in: folder, types: types)
    try #require(lines.count == 8)
    #expect(lines[0] == #"[{"data":{"stars":[1,2.5,true]},"id":"photo:1","title":"Aurora"}]"#)
    #expect(lines[1] == #"[{"amount":2,"id":"milk","isBought":false,"name":"Milk"}]"#)
    let opened = try await shop.ask(post, "/v1/reactors/photoDetail", #"{"arguments":\#(lines[2])}"#)
    #expect(opened.status == 201)
    #expect(try await shop.ask(post, "/v1/shopping/actions", lines[3]).status == 200)
    #expect(try await shop.json("/v1/shopping")["items"]?.arrayValue?.map { $0["name"] } == ["Tea"])
    for (module, line) in [("favorites", lines[4]), ("defaults", lines[5])] {
      let actions = try #require(try JSON(parsing: line).arrayValue).map { action -> JSON in
        ["module": .string(module), "type": action["type"] ?? .null, "payload": action["payload"] ?? .null]
      }
      #expect(
        try await shop.ask(post, "/v1/actions", JSON.object(["actions": .array(actions)]).description).status == 200
      )
    }
    #expect(try await shop.json("/v1/favorites/photo:1")["title"] == nil)
    #expect(try await shop.json("/v1/defaults/standard")["values"] == ["theme": ["dark": true]])
    let login = try await shop.ask(post, "/v1/reactors/login", "{}")
    let href = try #require(try JSON(parsing: login.body)["href"]?.stringValue)
    #expect(try await shop.ask(post, "\(href)/actions", lines[6]).status == 200)
    #expect(lines[7] == "shopping login")
    await shop.stop()
  }

  private static let song = """
    {"$ref":"#/$defs/song","$defs":{"song":{
      "type":"object","required":["song","class"],"additionalProperties":false,"properties":{
        "song":{"type":"string"},"stars":{"type":"integer","maximum":5},"self":{"type":"boolean"},"next":{"$ref":"#/$defs/song"},
        "class":{"type":"object","properties":{"Type":{"type":"string"},"type":{"enum":["a","self"]},"init":{"const":"x"}}},
        "font-size":{"oneOf":[{"type":"null"},{"type":"number"}]},"":{"oneOf":[{"type":"string"},{"type":"number"}]},
        "protocol":{"type":"array","items":{"type":"object","properties":{"Protocol":{"type":["string","null"]}}}}
      }
    }}}
    """

  /// Declarations whose names and members could clash with names of Swift or of the printed types.
  private static var declarations: [(name: String, declaration: String)] {
    let deep =
      String(repeating: #"{"type":"object","properties":{"a":"#, count: 25) + "{}" + String(repeating: "}}", count: 25)
    let odd =
      #"{"kind":"map","schema":{"type":"object","properties":{"type":{"type":"string"},"self":{"type":"integer"}}}}"#
    let names = [
      "self", "type", "class", "protocol", "any", "jSONValue", "memberName", "string", "optional", "codable", "element",
      "favoritesElement", "favoritesAction",
    ]
    return [
      ("playlist", #"{"kind":"list","schema":\#(song)}"#),
      ("scores", #"{"kind":"map","schema":{"type":"integer","minimum":0}}"#),
      ("choices", #"{"kind":"map","schema":{"enum":["a","b-c","self",""]}}"#),
      ("anything", #"{"kind":"list"}"#), ("nothing", #"{"kind":"list","schema":false}"#),
      ("deep", #"{"kind":"map","schema":\#(deep)}"#),
    ] + names.map { ($0, odd) }
  }

  /// Reads what the server has sent of declared collections, and prints actions.
  private static let declaredProgram = """
    import Foundation

    func read<Value: Decodable>(_ type: Value.Type, _ file: String) throws -> Value {
      try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1] + "/" + file)))
    }

    func show(_ value: some Encodable) throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    struct Page<Element: Decodable>: Decodable { var items: [Element] }
    struct Values<Value: Decodable>: Decodable { var values: [String: Value] }

    let songs = try read(Page<PlaylistElement>.self, "playlist").items
    precondition(songs[0].data.song == "Aria" && songs[0].data.stars == 5 && songs[0].data.class.type == .self2)
    let scores = try read(Values<ScoresValue>.self, "scores").values
    precondition(scores == ["level1": 300])
    try show([
      PlaylistAction.add(id: "b", title: "Bolero", data: .init(song: "B", class: .init(type: .a)), index: 0),
      .update(id: "b", data: ["stars": 1]), .move(id: "a", index: 0),
    ])
    try show([
      ScoresAction.set(key: "level2", value: 7), .increment(key: "level2", by: 1),
      .merge(values: ["level1": nil, "level3": 9]),
    ])

    """

  @Test("The types of declared collections have those of their schemas, whatever their names")
  func declared() async throws {
    let folder = try TemporaryDirectory()
    let administrator = "administrator-token-of-32-characters"
    let (server, port) = try await LockstepProcess.serving(["--admin-token", administrator], in: folder)
    func ask(_ method: String, _ target: String, _ body: String?, as token: String?) async throws -> RawResponse {
      try await Shop.ask(port, method, target, body, token.map { ["Authorization: Bearer \($0)"] } ?? [])
    }
    for (name, declaration) in Self.declarations {
      let response = try await ask("PUT", "/v1/admin/collections/\(name)", declaration, as: administrator)
      #expect(response.status == 201, "\(name)")
    }
    let account = try await ask(
      "POST",
      "/v1/users",
      #"{"email":"a@example.com","password":"\#(Shop.password)"}"#,
      as: nil
    )
    let token = try #require(try JSON(parsing: account.body)["token"]?.stringValue)
    let song = #"{"data":{"song":"Aria","stars":5,"class":{"type":"self"}}}"#
    #expect(try await ask("PUT", "/v1/playlist/a", song, as: token).status == 201)
    #expect(try await ask("PUT", "/v1/scores/level1", "300", as: token).status == 201)
    for name in ["playlist", "scores"] {
      try folder.write(try await ask("GET", "/v1/\(name)", nil, as: token).body, to: name)
    }
    let types = try await Self.types("swift", port: port, in: folder)
    let lines = try await Self.run(Self.declaredProgram, in: folder, types: types)
    try #require(lines.count == 2)
    for (module, line) in [("playlist", lines[0]), ("scores", lines[1])] {
      let actions = try #require(try JSON(parsing: line).arrayValue).map { action -> JSON in
        ["module": .string(module), "type": action["type"] ?? .null, "payload": action["payload"] ?? .null]
      }
      let body = JSON.object(["actions": .array(actions)]).description
      #expect(try await ask("POST", "/v1/actions", body, as: token).status == 200)
    }
    let songs = try JSON(parsing: try await ask("GET", "/v1/playlist", nil, as: token).body)["items"]
    #expect(songs?[1]?["data"] == ["song": "B", "class": ["type": "a"], "stars": 1])
    let scores = try JSON(parsing: try await ask("GET", "/v1/scores", nil, as: token).body)["values"]
    #expect(scores == ["level2": 8, "level3": 9])
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  /// The head of a response that is complete without the body.
  private static func response(_ status: String, _ body: String, _ fields: String = "") -> String {
    "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  @Test(
    "A response that is no catalogue is an error with its exit code",
    arguments: [
      (response("200 OK", "<html>"), 65, "is not the catalogue of a Lockstep server: it is not JSON"),
      (response("200 OK", #"{"status":"ok"}"#), 65, "it has no items"),
      (response("404 Not Found", "{}"), 69, "responded with 404 instead of its catalogue."),
      (
        response("301 Moved", "", "Location: http://127.0.0.1:1/\r\n"), 69,
        "the redirect 301. Give the URL that it leads to"
      ),
      (response("401 Unauthorized", ""), 77, "The catalogue of a Lockstep server is public"),
      (response("200 OK", String(repeating: "x", count: 9_000_000)), 69, "its response is longer than 8MiB"),
      ("SSH-2.0-x\r\n", 69, "gave no catalogue: "), ("", 69, "gave no catalogue: "),
    ] as [(String, Int32, String)]
  )
  func refused(response: String, code: Int32, text: String) async throws {
    let server = try RawServer()
    let url = "http://ada:secret@127.0.0.1:\(server.port)/"
    let process = try LockstepProcess(["swift", "--url", url, "--timeout", "5m"], in: TemporaryDirectory())
    await aside { server.respondOnce(response) }
    #expect(await process.ended() == .exit(code))
    #expect(process.errors.hasPrefix("lockstep swift: ") && process.errors.contains(text), "\(process.errors)")
    #expect(process.output.isEmpty && !process.errors.contains("secret"))
  }

  @Test("A server that is silent or not there is an error, and nothing is printed")
  func unreachable() async throws {
    let (silent, closed) = (try RawServer(), try RawServer(listens: false))
    for (port, time) in [(silent.port, "200ms"), (closed.port, "60s")] {
      let arguments = ["typescript", "--url", "http://127.0.0.1:\(port)", "--timeout", time]
      let process = try LockstepProcess(arguments, in: TemporaryDirectory())
      #expect(await process.ended() == .exit(69))
      #expect(process.errors.hasPrefix("lockstep typescript: http://127.0.0.1:\(port) gave no catalogue: "))
      #expect(process.output.isEmpty)
    }
  }

  @Test(
    "A wrong URL is an error of the command line",
    arguments: [
      ([], "--url is missing: --url <URL>."), (["--url", "ftp://a.example"], "it must begin with https:// or http://"),
      (["--url", "http://ada:secret@/"], "it must have a valid host"),
      (["--url", "http://a.example/?x=secret"], "--url cannot have a query"),
    ]
  )
  func wrongURL(arguments: [String], text: String) async throws {
    let process = try LockstepProcess(["swift"] + arguments, in: TemporaryDirectory())
    #expect(await process.ended() == .exit(64))
    #expect(process.errors.contains(text) && !process.errors.contains("secret"), "\(process.errors)")
  }
}
