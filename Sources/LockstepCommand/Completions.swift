/// Scripts that complete the words of the command line in a shell.
struct Completions {
  /// A first word, and the commands that begin with it.
  private struct Group {
    let word: String
    var commands: [CommandEntry]

    /// The second words; empty if the first word is a command by itself.
    var seconds: [Substring] { commands.map { $0.name.dropFirst(word.count + 1) }.filter { !$0.isEmpty } }
    var summary: String { seconds.isEmpty ? commands[0].summary : "\(word) …" }
  }

  private let commands: [CommandEntry]
  private let groups: [Group]

  init(_ commands: [CommandEntry]) {
    self.commands = commands
    groups = commands.reduce(into: []) { groups, command in
      let word = String(command.name.prefix { $0 != " " })
      if groups.last?.word != word { groups.append(Group(word: word, commands: [])) }
      groups[groups.count - 1].commands.append(command)
    }
  }

  func script(for shell: CompletionsCommand.Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  // MARK: bash

  private var bash: String {
    func complete(_ words: some Sequence<some StringProtocol>) -> String {
      "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\"))"
    }
    var text = """
      # Completions of lockstep for bash: lockstep completions bash
      _lockstep() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          \(complete(groups.map(\.word) + ["--help", "--version"]))
          return
        fi
        case $command in

      """
    for group in groups where !group.seconds.isEmpty {
      text += """
            \(group.word))
              if ((COMP_CWORD == 2)); then
                \(complete(group.seconds + ["--help"]))
                return
              fi
              command="$command ${COMP_WORDS[2]}"
              ;;

        """
    }
    text += "  esac\n  case \"$command $before\" in\n"
    for command in commands {
      for option in command.options where option.placeholder != nil {
        let choices = option.choices
        let action =
          option.takesFile ? "COMPREPLY=($(compgen -f -- \"$word\"))" : choices.isEmpty ? "" : complete(choices)
        text += "    \"\(command.name) \(option.name)\") \(action.isEmpty ? "" : "\(action); ")return ;;\n"
      }
    }
    text += "  esac\n  case $command in\n"
    for command in commands {
      let words = command.operands.flatMap(\.choices) + command.options.map(\.name) + ["--help"]
      text += "    \"\(command.name)\") \(complete(words)) ;;\n"
    }
    return text + "  esac\n}\ncomplete -F _lockstep lockstep\n"
  }

  // MARK: zsh

  private var zsh: String {
    var text = """
      #compdef lockstep
      # Completions of lockstep for zsh: lockstep completions zsh
      _lockstep() {
        local -a words_of_commands
        if ((CURRENT == 2)); then
      \(describe(groups.map { ($0.word, $0.summary) }))
          return
        fi
        case ${words[2]} in

      """
    for group in groups {
      text += "    \(group.word))\n"
      if group.seconds.isEmpty {
        text += arguments(of: group.commands[0], dropping: 1)
      } else {
        text += "      if ((CURRENT == 3)); then\n"
        text += describe(zip(group.seconds, group.commands).map { (String($0), $1.summary) })
        text += "\n        return\n      fi\n      case ${words[3]} in\n"
        for (word, command) in zip(group.seconds, group.commands) {
          text += "        \(word))\n" + arguments(of: command, dropping: 2) + "          ;;\n"
        }
        text += "      esac\n"
      }
      text += "      ;;\n"
    }
    return text + "  esac\n}\n_lockstep \"$@\"\n"
  }

  private func describe(_ words: [(word: String, summary: String)]) -> String {
    let lines = words.map { "      \(quoted("\($0.word):\($0.summary)"))\n" }
    return "    words_of_commands=(\n\(lines.joined())    )\n    _describe command words_of_commands"
  }

  private func arguments(of command: CommandEntry, dropping count: Int) -> String {
    func action(_ word: OptionSyntax) -> String {
      if word.takesFile { return "_files" }
      return word.choices.isEmpty ? " " : "(\(word.choices.joined(separator: " ")))"
    }
    var specifications = command.options.map { option in
      let help = option.help.prefix { !".;:".contains($0) }.filter { !"[]".contains($0) }
      let value = option.placeholder.map { ":\($0.filter { !"<>:".contains($0) }):\(action(option))" }
      return "\(option.name)[\(help)]\(value ?? "")"
    }
    specifications += command.operands.map { ":\($0.name.filter { !"<>".contains($0) }):\(action($0))" }
    specifications.append("--help[print the help]")
    return "      shift \(count) words\n      ((CURRENT -= \(count)))\n      _arguments \\\n"
      + specifications.map { "        \(quoted($0))" }.joined(separator: " \\\n") + "\n"
  }

  // MARK: fish

  private var fish: String {
    var text = "# Completions of lockstep for fish: lockstep completions fish\ncomplete -c lockstep -f\n"
    func complete(_ condition: String, _ rest: String) {
      text += "complete -c lockstep -n \(quoted(condition)) \(rest)\n"
    }
    for group in groups { complete("__fish_use_subcommand", "-a \(group.word) -d \(quoted(group.summary))") }
    for group in groups {
      let others = group.seconds.joined(separator: " ")
      for (word, command) in zip(group.seconds, group.commands) {
        complete(
          "__fish_seen_subcommand_from \(group.word); and not __fish_seen_subcommand_from \(others)",
          "-a \(word) -d \(quoted(command.summary))"
        )
      }
    }
    for command in commands {
      let condition = command.name.split(separator: " ").map { "__fish_seen_subcommand_from \($0)" }
        .joined(separator: "; and ")
      for option in command.options {
        let name = option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-s \(option.name.dropFirst())"
        let values = option.choices.isEmpty ? "" : " -a \(quoted(option.choices.joined(separator: " ")))"
        let value = option.placeholder == nil ? "" : option.takesFile ? " -r -F" : " -x\(values)"
        complete(condition, "\(name)\(value) -d \(quoted(String(option.help.prefix { !".;".contains($0) })))")
      }
      for operand in command.operands where !operand.choices.isEmpty {
        complete(condition, "-a \(quoted(operand.choices.joined(separator: " ")))")
      }
    }
    return text
  }

  /// The text in single quotes. Shells expand nothing inside them.
  private func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}
