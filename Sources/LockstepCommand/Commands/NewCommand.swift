import LockstepComposition

/// `lockstep new`: writes the package of a server of your own.
enum NewCommand {
  struct Settings: CommandSettings {
    var name = ""
    var lockstep: String?
  }

  static let syntax = CommandSyntax<Settings>(
    name: "new",
    summary: "Write the package of a server of your own.",
    about: """
      Write a Swift package for a server of your own into the new folder <name>. The package has one
      module and one screen with tests, a Dockerfile, a unit for systemd, and a README.
      """,
    notes: """
      The program gets the name of the folder, which may have lower-case letters, digits and hyphens.
      If the folder exists, it must be empty. Then build, test and run the server:

        cd <name> && swift build && swift test && swift run <name> serve
      """,
    operands: [CommandOption("<name>", \.name, .projectName)],
    options: [
      CommandOption("--lockstep", \.lockstep, .text("<folder|URL>"), hasVariable: false)
        .help(
          "Lockstep's package: a folder, or the URL of a Git repository. Default: the folder in which this program was "
            + "built, if it still exists."
        )
    ]
  )

  static let entry = CommandEntry(syntax) { settings in
    let project = ProjectTemplate(name: settings.name, source: try source(settings.lockstep))
    try ProjectFolder(settings.name).write(project.files)
    return Terminal.print(
      """
      \(settings.name): a server with the module notes and the screen newNote.

        cd \(settings.name)
        swift build && swift test
        swift run \(settings.name) serve

      """
    )
  }

  private static func source(_ option: String?) throws -> ProjectTemplate.Source {
    guard let option else {
      guard let folder = ProjectTemplate.Source.ownPackage() else {
        throw OptionParser.UsageError(message: "--lockstep is missing: --lockstep <folder|URL>.")
      }
      return .folder(folder)
    }
    if option.contains("://") || option.hasPrefix("git@") {
      guard let source = ProjectTemplate.Source(url: option) else {
        throw OptionParser.UsageError(
          message:
            "--lockstep cannot be “\(Terminal.harmless(option))”: it must be the URL of a repository, without spaces."
        )
      }
      return source
    }
    guard ProjectTemplate.Source.isPackage(option) else {
      throw CommandError(.noInput, "\(Terminal.harmless(option)) is not the folder of Lockstep's package.")
    }
    // The project's folder is in the present one.
    return .folder(option.hasPrefix("/") ? option : "../\(option)")
  }
}

extension OptionFormat where Value == String {
  fileprivate static let projectName = OptionFormat(
    "<name>",
    reason: "it must begin with a lower-case letter, contain only lower-case letters, digits and single hyphens, have "
      + "at most 64 characters, and not begin with lockstep"
  ) { name in
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    let isAllowed = name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    // The programs and targets of Lockstep have such names.
    guard isAllowed, name.utf8.count <= 64, !words.contains(""), name.first?.isLetter == true,
      !name.hasPrefix("lockstep")
    else { return nil }
    return name
  }
}
