import LockstepComposition
import LockstepHTTP
import Testing

@testable import LockstepCommand

@Suite("The manual page describes every option and command", .timeLimit(.minutes(10)))
struct ManualPageTests {
  private let page = ManualPage(of: Command.all(), date: Timestamp(millisecondsSince1970: 1_000)).text

  /// The page without the escapes of roff.
  private var plain: String {
    var text = page
    for (escape, character) in [("-", "-"), ("(aq", "'"), ("(dq", "\""), ("(ti", "~"), ("(ha", "^"), ("(ga", "`")] {
      text = text.replacing("\\" + escape, with: character)
    }
    return text
  }

  @Test("Each command has a section with its usage and its options", arguments: Command.all().map(\.name))
  func command(name: String) throws {
    let command = try #require(Command.all().first { $0.name == name })
    let start = try #require(plain.firstRange(of: ".SS \"\(command.usage)\"\n"))
    let section = "\(plain[start.upperBound...].split(separator: "\n.S").first ?? "")\n"
    for option in command.options {
      let term = [option.name, option.placeholder].compactMap { $0 }.joined(separator: " ")
      #expect(section.contains(".B \(term)\n\(option.help)\n"), "\(option.name)")
    }
  }

  @Test("Each variable is listed once, with the commands that read it")
  func variables() {
    #expect(plain.split(separator: "\n.B LOCKSTEP_PORT\n").count == 2)
    #expect(plain.contains("\n.B LOCKSTEP_PORT\nSets --port of: serve, health.\n"))
  }

  @Test("Each exit code has a meaning")
  func codes() {
    for code in ExitCode.allCases { #expect(plain.contains("\n.B \(code.rawValue)\n\(code.meaning)\n")) }
  }

  @Test("Only macros begin with a dot or an apostrophe, and the page is ASCII")
  func escapes() {
    let macros = ["TH", "SH", "SS", "PP", "TP", "B", "br", "nf", "fi"]
    for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      #expect(macros.contains(String(line.dropFirst().prefix { $0 != " " })), "\(line)")
    }
    #expect(page.utf8.allSatisfy { $0 < 128 })
  }

  @Test("The page has the given date and the version")
  func title() {
    #expect(page.hasPrefix(".TH LOCKSTEP 1 1970-01-01 \"lockstep \(lockstepVersion)\""))
  }
}
