/// `lockstep completions`: what a shell needs to complete this command's words, made of the tables of options.
enum CompletionsCommand {
  struct Settings {
    var shell = Shell.bash
  }

  enum Shell: String, CaseIterable {
    case bash
    case zsh
    case fish
  }

  static let form = CommandSyntax<Settings>(
    name: "completions",
    summary: "Print completions for a shell: bash, zsh or fish.",
    about: "Print what a shell needs to complete the words of this command.",
    notes: """
      bash:  lockstep completions bash > /etc/bash_completion.d/lockstep
      zsh:   lockstep completions zsh > "${fpath[1]}/_lockstep"
      fish:  lockstep completions fish > ~/.config/fish/completions/lockstep.fish
      """,
    operands: [
      CommandSyntax<Settings>.Operand(placeholder: "bash|zsh|fish") { settings, value throws(OptionValueError) in
        settings.shell = try OptionValue.choice(value)
      }
    ],
    options: []
  )

  static let entry: CommandEntry = CommandEntry(form, Settings()) { settings in
    Terminal.print(Completions.script(for: settings.shell, Command.all()))
  }
}
