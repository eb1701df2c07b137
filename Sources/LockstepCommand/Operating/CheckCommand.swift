import Lockstep
import LockstepCollections
import LockstepMaintenance

/// `lockstep check`: whether a store is whole.
enum CheckCommand {
  static let form = CommandSyntax<Configuration>(
    name: "check",
    summary: "Look whether a store is whole, while it's served.",
    about: """
      Look through a whole store, while a server serves on it, for what shouldn't be so: damaged pages, indexes and columns
      (SQLite's own check), tables and the like that this lockstep doesn't make, rows that refer to nothing, texts that are
      no JSON, and users whose tables aren't what their journal rebuilds. Nothing is changed.
      """,
    notes: """
      Ends with 0 when all is well, with 65 when something is damaged. Who has more than the quotas allow is told, and is no
      damage: quotas may have been lowered.
      """,
    options: [.data] + ServeOptions.storage.filter { quotas.contains($0.name) }.map { $0.within(\.self) }
  )

  private static let quotas = [
    "--max-favorites", "--max-favorites-bytes", "--max-suites", "--max-default-keys", "--max-suite-bytes",
  ]

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(form, Configuration()) { configuration in
      let check = StoreCheck(
        of: configuration.data,
        favorites: configuration.favoritesQuota,
        defaults: configuration.defaultsQuota,
        modules: modules
      )
      var bar = ProgressBar("users")
      defer { bar.clear() }
      let report = try check.run { bar.show($0.users, of: $0.ofUsers, as: Terminal.count($0.ofUsers, "user")) }
      bar.clear()
      try Terminal.show(CheckText.text(of: report))
      return report.isDamaged ? .data : .success
    }
  }
}

/// A report of a check as people read it.
enum CheckText {
  static func text(of report: CheckReport) -> String {
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
      return "not looked at: serve the store once with this lockstep, which brings its schema to \(report.knownSchema)"
    }
    if report.counts[.schema] != nil, ![.file, .schema].contains(area) { return "not looked at" }
    switch (area, count) {
    case (.file, 0): return "whole: \(report.pages) pages, \(Terminal.size(report.pages * report.pageSize))"
    case (.schema, 0): return "as this lockstep makes it"
    case (.references, 0): return "whole"
    case (.identity, 0): return "one, and the tokens' key"
    case (.texts, 0): return "all JSON that should be"
    case (.users, 0): return "\(report.users): each has what the journal rebuilds"
    case (.quotas, 0): return "nobody has more than is allowed"
    case (.quotas, _): return "\(count) over; what is there stays, what would add to it is refused"
    default: return "DAMAGED: \(count) found"
    }
  }

  private static func conclusion(_ report: CheckReport) -> String {
    guard report.isDamaged else { return report.isWhole ? "No damage.\n" : "No damage in what was looked at.\n" }
    return """
      The store is damaged. Keep a copy of its files as they are, and find out why: the system's log tells of failing disks.
      Then stop the server and restore a backup that is whole: lockstep restore --from <backup> --data \(report.store) --force

      """
  }
}
