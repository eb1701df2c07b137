import LockstepComposition
import LockstepMaintenance
import LockstepSync

/// `lockstep collections …`: the declared collections of a store, with or without a running server.
enum CollectionsCommands {
  struct Settings: CommandSettings {
    var configuration = Configuration()
    var operand = ""
    var json = false
    var isDryRun = false
    var erasesData = false
  }

  static func entries(_ program: Program) -> [CommandEntry] { [apply(program), list(program), delete(program)] }

  private static let store = [
    Option.data.within(\Settings.configuration), Option.store.within(\Settings.configuration),
  ]
  private static let serverNotes = """
    The change is in effect at once, without a restart of the server. If a server uses a store in a file, this
    command sends the change to the server, over the socket beside the file. If no server uses the file, this
    command does the work itself. With a store in PostgreSQL, this command is a node of the fleet while it works.
    """

  // MARK: apply

  private static func apply(_ program: Program) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "collections apply",
        summary: "Declare collections, or change their declarations.",
        about: """
          Declare the collections of a JSON file, or replace their declarations: all of them, or none.
          Collections that the file does not name stay as they are. The file (- for standard input) contains an
          array of declarations:

            [{ "name": "playlist", "kind": "list",
               "schema": { "type": "object", "required": ["song"],
                           "properties": { "song": { "type": "string", "maxLength": 200 } } } }]
          """,
        notes: """
          When a schema changes, stored data stays as it is. The server checks later writes by the new schema.
          \(serverNotes)
          If the file or the database has no store yet, the command makes one, as `lockstep migrate` does.
          If the file is not valid, prints each fault with its place, as a JSON Pointer, and exits with code 65.
          If the kind of a collection would change while users have data in it, or if the store would have too
          many collections, exits with code 73.
          """,
        operands: [CommandOption("<file>", \.operand, .text("<file>"))],
        options: store + [.flag("--dry-run", \.isDryRun, "Show what would change, and change nothing.")],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let declarations = try DeclarationsFile.read(settings.operand, taken: program.taken)
      let location = settings.configuration.location
      if try !location.hasStore() {
        if settings.isDryRun {
          return try showDifference(of: declarations, from: ModuleSet(program.modules)) { _ in false }
        }
        let store = try StoreMigration(of: location, modules: program.modules).run().name
        // A misspelt --data also makes a store, so the operator should see this line.
        Terminal.error("\(Terminal.harmless(store)): there was no store, so a new one was made.\n")
      }
      let signals = try SignalInterceptor()
      if settings.isDryRun {
        let reader = try DeclarationsReader(of: location)
        return try showDifference(of: declarations, from: reader.collections(program.modules), hasData: reader.hasData)
      }
      guard case .applied(let difference) = try run(.apply(declarations), settings, program, signals) else {
        return .success
      }
      let lines = declarations.map { declaration in
        let name = declaration.name
        let effect =
          difference.created.contains(name) ? "created" : difference.changed.contains(name) ? "changed" : "unchanged"
        return "\(name): \(effect)\n"
      }
      return Terminal.print(lines.joined())
    }
  }

  private static func showDifference(
    of declarations: [DeclaredCollection],
    from present: ModuleSet,
    hasData: (DeclaredCollection) throws -> Bool
  ) throws -> ExitCode {
    var text = ""
    var refusals: [String] = []
    for declaration in declarations {
      guard let known = present.declared[declaration.name.exact] else {
        text += "\(declaration.name): would be created\n"
        continue
      }
      if known.matches(declaration) {
        text += "\(declaration.name): unchanged\n"
        continue
      }
      text += "\(declaration.name): would be changed\n"
      text += JSONDifference.lines(known.json, declaration.json).map { "  \($0)\n" }.joined()
      if known.declaration.kind != declaration.kind, try hasData(known.declaration) {
        refusals.append("Users have data in \(declaration.name), so its kind cannot change.")
      }
    }
    try Terminal.show(text)
    let limit = DeclaredCollection.Bounds.collections
    let count = Set(declarations.map(\.name.exact)).union(present.declared.keys).count
    if count > limit { refusals.append("A store may have \(limit) declared collections, not \(count).") }
    if !refusals.isEmpty { throw CommandError(.cannotCreate, refusals.joined(separator: "\n")) }
    return .success
  }

  // MARK: list

  private static func list(_ program: Program) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "collections list",
        summary: "List the declared collections.",
        about: """
          List the declared collections in the order of their names: name, kind, access, the most elements and
          bytes that a user may have, whether the collection is closed for writes, and description.
          """,
        options: store + [
          .flag("--json", \.json, "Print the declarations as JSON, in the form that `collections apply` reads.")
        ],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let reader = try DeclarationsReader(of: settings.configuration.location)
      let declared = try reader.collections(program.modules).declared
      let collections = declared.values.sorted { $0.declaration.name < $1.declaration.name }
      if settings.json {
        return Terminal.print("[\n" + collections.map { "  \($0.json)" }.joined(separator: ",\n") + "\n]\n")
      }
      return Terminal.print(table(of: collections))
    }
  }

  private static func table(of collections: [DeclaredModule]) -> String {
    let width = collections.map(\.declaration.name.utf8.count).max() ?? 0
    return collections.map { collection in
      let declaration = collection.declaration
      let name = declaration.name + String(repeating: " ", count: width - declaration.name.utf8.count)
      let kind = declaration.kind.rawValue + String(repeating: " ", count: 4 - declaration.kind.rawValue.utf8.count)
      let access = declaration.access == .readOnly ? "readOnly " : "readWrite"
      let quota = "\(Terminal.count(declaration.quota.elements, "element")), \(Terminal.size(declaration.quota.bytes))"
      let description = declaration.description.map { "  \(Terminal.harmless($0))" } ?? ""
      let state = collection.isClosing ? "  (closed for writes)" : ""
      return "\(name)  \(kind)  \(access)  \(quota)\(state)\(description)\n"
    }
    .joined()
  }

  // MARK: delete

  private static func delete(_ program: Program) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "collections delete",
        summary: "Delete a declared collection.",
        about: """
          Delete the declaration of a collection. A collection in which users have data is deleted only with
          --erase, which erases the data of all users first.
          """,
        notes: """
          \(serverNotes)
          Exits with code 66 if there is no such collection, and with code 73 if users have data in it.
          If the command is interrupted while it erases, the collection refuses writes until the command is run
          again, or until the collection is declared again.
          """,
        operands: [CommandOption("<name>", \.operand, .text("<name>"))],
        options: store + [.flag("--erase", \.erasesData, "Erase the data of all users in the collection for good.")],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let signals = try SignalInterceptor()
      let name = settings.operand
      let reader = try DeclarationsReader(of: settings.configuration.location)
      guard try reader.collections(program.modules).declared[name.exact] != nil else { throw missing(name) }
      _ = try run(.delete(name: name, erasesData: settings.erasesData), settings, program, signals)
      return Terminal.print("\(name): deleted\n")
    }
  }

  private static func missing(_ name: String) -> CommandError {
    CommandError(
      .noInput,
      "There is no declared collection \(Terminal.harmless(name)). Run `lockstep collections list` to list all of them."
    )
  }

  // MARK: Work

  /// Throws if the work is refused.
  private static func run(
    _ work: CollectionsWork,
    _ settings: Settings,
    _ program: Program,
    _ signals: SignalInterceptor
  ) throws -> CollectionsOutcome {
    let channel = try program.channel(settings.configuration, signals)
    switch try signals.report({ try channel.change(work) }) {
    case .refused(.missing, let detail): throw CommandError(.noInput, detail)
    case .refused(_, let detail): throw CommandError(.cannotCreate, detail)
    case let outcome: return outcome
    }
  }
}
