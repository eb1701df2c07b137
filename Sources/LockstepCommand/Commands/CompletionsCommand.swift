/// `lockstep completions`: prints a script for a shell, made from the option tables.
enum CompletionsCommand {
  struct Settings: CommandSettings {
    var shell = Shell.bash
  }

  enum Shell: String, CaseIterable {
    case bash
    case zsh
    case fish
  }

  static let syntax = CommandSyntax<Settings>(
    name: "completions",
    summary: "Print shell completions for bash, zsh or fish.",
    about: "Print a script that lets a shell complete the commands and options of lockstep.",
    notes: """
      bash:  lockstep completions bash > /etc/bash_completion.d/lockstep
      zsh:   lockstep completions zsh > "${fpath[1]}/_lockstep"
      fish:  lockstep completions fish > ~/.config/fish/completions/lockstep.fish
      """,
    operands: [CommandOption(Shell.allCases.map(\.rawValue).joined(separator: "|"), \.shell, .choice)],
    options: []
  )

  static let entry = CommandEntry(syntax) { settings in
    Terminal.print(Completions(Command.all()).script(for: settings.shell))
  }
}
