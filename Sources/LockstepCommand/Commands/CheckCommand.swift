import LockstepComposition
import LockstepMaintenance

enum CheckCommand {
  static let syntax = CommandSyntax<Configuration>(
    name: "check",
    summary: "Check a store for damage, even while a server uses it.",
    about: """
      Check a whole store, even while a server uses it. The check finds damaged pages, indexes and columns
      (SQLite's own check), unknown tables, references to missing rows, text that is not JSON, and users
      whose state differs from the state that their journal gives. The command changes nothing.

      In PostgreSQL, the check compares the tables with those that Lockstep creates, and then reads one
      snapshot: rows without their user, addresses, sessions and tokens that do not belong together, text
      that is not JSON, and each user's journal and state. To find damaged pages, use pg_amcheck.
      """,
    notes: """
      Exits with code 0 if there is no damage, and with code 65 if there is damage. The command also lists
      users above their quotas. They are not damage, because the operator may have lowered a quota.
      """,
    options: [.data, .store] + ServeOptions.quotas,
    exclusive: [storeOptionNames]
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(syntax) { configuration in
      var bar = ProgressBar("users")
      defer { bar.clear() }
      let report: CheckReport
      do {
        report = try Self.report(configuration, modules) { bar.show($0, of: $1, as: Terminal.count($1, "user")) }
      } catch MaintenanceError.damaged(let path, let what) {
        throw CommandError(
          .data,
          "\(path) is damaged: \(what). Its schema cannot be read, so nothing else was checked. Copy its files for later "
            + "analysis, and look for the cause: failing disks are in the system log. Then stop the server and restore an "
            + "intact backup: lockstep restore --from <backup> --data \(path) --force"
        )
      }
      bar.clear()
      try Terminal.show(text(of: report))
      return report.isDamaged ? .data : .success
    }
  }

  private static func report(
    _ configuration: Configuration,
    _ modules: [UserModule],
    _ progress: (Int, Int) -> Void
  ) throws -> CheckReport {
    let (favorites, defaults) = (configuration.favoritesQuota, configuration.defaultsQuota)
    switch configuration.location {
    case .file(let path):
      return try StoreCheck(of: path, favorites: favorites, defaults: defaults, modules: modules).run(
        progress: progress
      )
    case .database(let string):
      return try DatabaseCheck(of: string, favorites: favorites, defaults: defaults, modules: modules)
        .run(progress: progress)
    }
  }

  private static func text(of report: CheckReport) -> String {
    let identity = report.identity.map { ", identity \($0)" } ?? ""
    var text = "\(report.store): a Lockstep store, schema \(report.schema)\(identity)\n"
    for area in CheckReport.Area.allCases {
      let name = name(of: area, report)
      let padded = name + String(repeating: " ", count: max(0, 14 - name.count))
      text += "  \(padded)\(line(of: area, report))\n"
      let listed = report.findings.filter { $0.area == area }
      for finding in listed { text += "    - \(Terminal.harmless(finding.what))\n" }
      let more = report.counts[area, default: 0] - listed.count
      if more > 0 { text += "    and \(more) more\n" }
    }
    return text + conclusion(report)
  }

  private static func name(of area: CheckReport.Area, _ report: CheckReport) -> String {
    switch area {
    case .file where report.isDatabase: "database"
    case .references where report.isDatabase: "references"
    default: area.rawValue
    }
  }

  private static func line(of area: CheckReport.Area, _ report: CheckReport) -> String {
    let count = report.counts[area, default: 0]
    if !report.isWhole, ![.file, .schema, .references].contains(area) {
      return
        "not checked: start a server of this version once, to migrate the store to schema \(report.knownSchema)"
    }
    if report.counts[.schema] != nil, ![.file, .schema].contains(area) { return "not checked" }
    switch (area, count) {
    case (.file, _) where report.isDatabase:
      return "\(Terminal.size(report.bytes)); its pages are not checked, use pg_amcheck"
    case (.schema, 0) where !report.isSchemaCompared:
      return "not compared: the role may not create temporary tables"
    case (.file, 0): return "no damage: \(report.pages) pages, \(Terminal.size(report.pages * report.pageSize))"
    case (.schema, 0): return "as created by this lockstep"
    case (.references, 0): return "complete"
    case (.identity, 0): return "present, with the token key"
    case (.texts, 0): return "all valid JSON"
    case (.users, 0): return "\(report.users): all as the journal rebuilds them"
    case (.quotas, 0): return "all users within their quotas"
    case (.quotas, _): return "\(count) exceeded; stored elements stay, more are refused"
    default: return "DAMAGED: \(count) found"
    }
  }

  private static func conclusion(_ report: CheckReport) -> String {
    guard report.isDamaged else { return report.isWhole ? "No damage.\n" : "No damage in the checked parts.\n" }
    if report.isDatabase {
      return """
        The store is damaged. Keep a dump of the database for later analysis, and look for the cause in the logs of
        PostgreSQL. Then stop all servers and restore an intact backup with the tools of PostgreSQL.

        """
    }
    return """
      The store is damaged. Copy its files for later analysis, and look for the cause: failing disks are in the system log.
      Then stop the server and restore an intact backup: lockstep restore --from <backup> --data \(report.store) --force

      """
  }
}
