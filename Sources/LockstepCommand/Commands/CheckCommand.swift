import Lockstep
import LockstepMaintenance

enum CheckCommand {
  static let syntax = CommandSyntax<Configuration>(
    name: "check",
    summary: "Check a store for damage, even while a server uses it.",
    about: """
      Check a whole store, even while a server uses it. The check finds damaged pages, indexes and columns
      (SQLite's own check), unknown tables, references to missing rows, text that is not JSON, and users
      whose state differs from the state that their journal gives. The command changes nothing.
      """,
    notes: """
      Exits with code 0 if there is no damage, and with code 65 if there is damage. The command also lists
      users above their quotas. They are not damage, because the operator may have lowered a quota.
      """,
    options: [.data] + ServeOptions.quotas
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(syntax) { configuration in
      let check = StoreCheck(
        of: configuration.data,
        favorites: configuration.favoritesQuota,
        defaults: configuration.defaultsQuota,
        modules: modules
      )
      var bar = ProgressBar("users")
      defer { bar.clear() }
      let report = try check.run { bar.show($0, of: $1, as: Terminal.count($1, "user")) }
      bar.clear()
      try Terminal.show(text(of: report))
      return report.isDamaged ? .data : .success
    }
  }

  private static func text(of report: CheckReport) -> String {
    let identity = report.identity.map { ", identity \($0)" } ?? ""
    var text = "\(report.store): a Lockstep store, schema \(report.schema)\(identity)\n"
    for area in CheckReport.Area.allCases {
      let name = area.rawValue + String(repeating: " ", count: max(0, 14 - area.rawValue.count))
      text += "  \(name)\(line(of: area, report))\n"
      let listed = report.findings.filter { $0.area == area }
      for finding in listed { text += "    - \(Terminal.harmless(finding.what))\n" }
      let more = report.counts[area, default: 0] - listed.count
      if more > 0 { text += "    and \(more) more\n" }
    }
    return text + conclusion(report)
  }

  private static func line(of area: CheckReport.Area, _ report: CheckReport) -> String {
    let count = report.counts[area, default: 0]
    if !report.isWhole, ![.file, .schema, .references].contains(area) {
      return
        "not checked: start a server of this version once, to migrate the store to schema \(report.knownSchema)"
    }
    if report.counts[.schema] != nil, ![.file, .schema].contains(area) { return "not checked" }
    switch (area, count) {
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
    return """
      The store is damaged. Copy its files for later analysis, and look for the cause: failing disks are in the system log.
      Then stop the server and restore an intact backup: lockstep restore --from <backup> --data \(report.store) --force

      """
  }
}
