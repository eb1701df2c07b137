import Foundation
import LockstepHTTPServer
import LockstepIdentity
import LockstepJSON
import LockstepMiddleware
import LockstepRoutes
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The dashboards, alerts and tables in docs/ match the server", .timeLimit(.minutes(10)))
struct DashboardTests {
  private static func text(of file: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return try String(contentsOfFile: "/\(root)/docs/\(file)", encoding: .utf8)
  }

  /// All series in /metrics of a server with everything switched on.
  private static func series() async throws -> Set<String> {
    let folder = try TemporaryDirectory()
    var names: Set<String> = []
    // No issuer listens there, which its metrics say too.
    let issuer = try TrustedIssuer(parsing: "issuer=http://127.0.0.1:9,audience=app")
    try await ServerFixture.run {
      $0.backups.folder = folder.file("backups")
      $0.trustedIssuers = [issuer]
    } _: { users in
      _ = try await users.signUp("ada")
      let page = try PrometheusText(try await users.ask("GET", "/metrics").text)
      for family in page.families { names.formUnion([family.name] + family.samples.map(\.name)) }
    }
    // The parts of a server with others on its store.
    var fleet = MetricsPage()
    fleet.add(ForwardingClient(time: .system))
    return names.union(try PrometheusText(fleet.text).families.map(\.name))
  }

  /// The names of series in an expression or on a page.
  private static func named(in text: String) -> Set<String> {
    Set(text.matches(of: /\b(?:lockstep|process)_[a-z_]*[a-z]\b/).map { String($0.output) })
  }

  @Test(
    "Each panel of docs/grafana.json uses existing series",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteMetrics)
  )
  func dashboard() async throws {
    let dashboard = try JSON(parsing: Array(try Self.text(of: "grafana.json").utf8))
    let panels = try #require(dashboard["panels"]?.arrayValue)
    #expect(panels.count >= 15)
    let series = try await Self.series()
    for panel in panels {
      let title = panel["title"]?.stringValue ?? ""
      let expressions = try #require(panel["targets"]?.arrayValue).compactMap { $0["expr"]?.stringValue }
      #expect(!title.isEmpty && !expressions.isEmpty)
      for expression in expressions {
        let named = Self.named(in: expression)
        #expect(!named.isEmpty && named.isSubset(of: series), "\(title): \(named.subtracting(series))")
        #expect(Self.isBalanced(expression), "\(expression)")
      }
    }
    #expect(Set(panels.compactMap { $0["id"]?.intValue }).count == panels.count)
  }

  @Test(
    "Each alert rule uses existing series and is complete",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteMetrics),
    arguments: [("alerts.yml", 10), ("alerts-fleet.yml", 6)]
  )
  func alerts(file: String, least: Int) async throws {
    let lines = try Self.text(of: file).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    func values(_ key: String) -> [String] {
      lines.filter { $0.hasPrefix(key) }.map { String($0.dropFirst(key.count)).trimmingCharacters(in: .whitespaces) }
    }
    let (names, expressions) = (values("- alert:"), values("expr:"))
    #expect(names.count >= least && Set(names).count == names.count)
    for count in [expressions.count, values("for:").count, values("severity:").count, values("summary:").count] {
      #expect(count == names.count)
    }
    let series = try await Self.series()
    for expression in expressions {
      #expect(expression.hasPrefix("'") && expression.hasSuffix("'") && Self.isBalanced(expression))
      #expect(Self.named(in: expression).isSubset(of: series), "\(expression)")
    }
    for severity in values("severity:") { #expect(["warning", "critical"].contains(severity)) }
  }

  @Test(
    "docs/operating.md explains every metric, and no others",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteMetrics)
  )
  func explained() async throws {
    let families = Set(try await Self.series().map { $0.replacing(/_(bucket|sum|count)$/, with: "") })
    var explained: Set<String> = []
    for row in try Self.text(of: "operating.md").split(separator: "\n") where row.hasPrefix("| `") {
      explained.formUnion(Self.named(in: String(row.dropFirst().prefix { $0 != "|" })))
    }
    #expect(families.subtracting(explained).isEmpty, "not explained")
    #expect(explained.subtracting(families).isEmpty, "these are explained and do not exist")
  }

  @Test(
    "Each test named in the tables of docs/operating.md and docs/security.md exists",
    arguments: ["operating.md", "security.md"]
  )
  func tests(page: String) throws {
    let folder = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
    let sources = try files.filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
    var (count, isInside) = (0, false)
    for line in try Self.text(of: page).split(separator: "\n", omittingEmptySubsequences: false) {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if cells.last == "test" {
        isInside = true
      } else if cells.isEmpty {
        isInside = false
      } else if isInside, let name = cells.last, !name.hasPrefix("---"), !name.hasPrefix("[") {
        count += 1
        // The name must follow @Test(, on its line or on the next.
        let isTest = sources.contains { $0.contains("Test(\"\(name)\"") || $0.contains("Test(\n    \"\(name)\"") }
        #expect(isTest, "\(name)")
      }
    }
    #expect(count > 10)
  }

  private static func isBalanced(_ expression: String) -> Bool {
    var open: [Character] = []
    let pairs: [Character: Character] = [")": "(", "}": "{", "]": "["]
    for character in expression {
      if pairs.values.contains(character) { open.append(character) }
      if let opening = pairs[character], open.popLast() != opening { return false }
    }
    return open.isEmpty
  }
}
