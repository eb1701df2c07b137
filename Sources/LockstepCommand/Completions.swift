/// Scripts by which shells complete the command's words.
enum Completions {
  static func script(for shell: CompletionsCommand.Shell, _ commands: [CommandEntry]) -> String {
    switch shell {
    case .bash: bash(commands)
    case .zsh: zsh(commands)
    case .fish: fish(commands)
    }
  }

  /// The first words, each once, in their order.
  private static func firstWords(_ commands: [CommandEntry]) -> [String] {
    commands.reduce(into: []) { words, command in
      let word = String(command.name.prefix { $0 != " " })
      if !words.contains(word) { words.append(word) }
    }
  }

  /// The second words of commands that share their first.
  private static func secondWords(_ first: String, _ commands: [CommandEntry]) -> [String] {
    commands.compactMap { $0.name.hasPrefix("\(first) ") ? String($0.name.dropFirst(first.count + 1)) : nil }
  }

  /// The values of an option, or of an operand, that takes a choice: `text|json`.
  private static func choices(_ placeholder: String?) -> [String] {
    guard let placeholder, placeholder.contains("|"), !placeholder.hasPrefix("<") else { return [] }
    return placeholder.split(separator: "|").map(String.init)
  }

  private static func isFile(_ placeholder: String?) -> Bool {
    placeholder.map { ["<file>", "<folder>"].contains($0) } ?? false
  }

  // MARK: bash

  private static func bash(_ commands: [CommandEntry]) -> String {
    let first = firstWords(commands)
    let groups = first.filter { !secondWords($0, commands).isEmpty }
    var text = """
      # Completions of lockstep for bash: lockstep completions bash
      _lockstep() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          COMPREPLY=($(compgen -W "\(first.joined(separator: " ")) --help --version" -- "$word"))
          return
        fi
        case $command in

      """
    for group in groups {
      let words = secondWords(group, commands).joined(separator: " ")
      text += """
            \(group))
              if ((COMP_CWORD == 2)); then
                COMPREPLY=($(compgen -W "\(words) --help" -- "$word"))
                return
              fi
              command="$command ${COMP_WORDS[2]}"
              ;;

        """
    }
    text += "  esac\n  case \"$command $before\" in\n"
    for command in commands {
      for option in command.options {
        let words = choices(option.placeholder)
        if !words.isEmpty {
          text +=
            "    \"\(command.name) \(option.name)\")"
            + " COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\")); return ;;\n"
        } else if isFile(option.placeholder) {
          text += "    \"\(command.name) \(option.name)\") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
        } else if option.placeholder != nil {
          text += "    \"\(command.name) \(option.name)\") return ;;\n"
        }
      }
    }
    text += "  esac\n  case $command in\n"
    for command in commands {
      let words = command.operands.flatMap { choices($0) } + command.options.map(\.name) + ["--help"]
      text += "    \"\(command.name)\") COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\")) ;;\n"
    }
    return text + "  esac\n}\ncomplete -F _lockstep lockstep\n"
  }

  // MARK: zsh

  private static func zsh(_ commands: [CommandEntry]) -> String {
    var text = """
      #compdef lockstep
      # Completions of lockstep for zsh: lockstep completions zsh
      _lockstep() {
        local -a words_of_commands
        if ((CURRENT == 2)); then
          words_of_commands=(

      """
    for word in firstWords(commands) {
      let summary = commands.first { $0.name == word }?.summary ?? "\(word) …"
      text += "      \(quoted("\(word):\(summary)"))\n"
    }
    text += "    )\n    _describe command words_of_commands\n    return\n  fi\n  case ${words[2]} in\n"
    for word in firstWords(commands) {
      text += "    \(word))\n"
      let second = secondWords(word, commands)
      if second.isEmpty, let command = commands.first(where: { $0.name == word }) {
        text += zshArguments(command, dropping: 1)
      } else {
        text += "      if ((CURRENT == 3)); then\n        words_of_commands=(\n"
        for command in commands where command.name.hasPrefix("\(word) ") {
          text += "          \(quoted("\(command.name.dropFirst(word.count + 1)):\(command.summary)"))\n"
        }
        text += "        )\n        _describe command words_of_commands\n        return\n      fi\n"
        text += "      case ${words[3]} in\n"
        for command in commands where command.name.hasPrefix("\(word) ") {
          text +=
            "        \(command.name.dropFirst(word.count + 1)))\n" + zshArguments(command, dropping: 2)
            + "          ;;\n"
        }
        text += "      esac\n"
      }
      text += "      ;;\n"
    }
    return text + "  esac\n}\n_lockstep \"$@\"\n"
  }

  private static func zshArguments(_ command: CommandEntry, dropping count: Int) -> String {
    var lines = ["      shift \(count) words", "      ((CURRENT -= \(count)))", "      _arguments \\"]
    for option in command.options {
      let help = option.help.prefix { $0 != "." && $0 != ";" && $0 != ":" }.filter { $0 != "[" && $0 != "]" }
      var specification = "\(option.name)[\(help)]"
      if let placeholder = option.placeholder {
        let words = choices(placeholder)
        let action = words.isEmpty ? (isFile(placeholder) ? "_files" : " ") : "(\(words.joined(separator: " ")))"
        specification += ":\(placeholder.filter { $0 != "<" && $0 != ">" && $0 != ":" }):\(action)"
      }
      lines.append("        \(quoted(specification)) \\")
    }
    for operand in command.operands {
      let words = choices(operand)
      lines.append(
        "        \(quoted(":\(operand.filter { $0 != "<" && $0 != ">" }):\(words.isEmpty ? " " : "(\(words.joined(separator: " ")))")")) \\"
      )
    }
    return lines.joined(separator: "\n") + "\n        '--help[what it takes]'\n"
  }

  // MARK: fish

  private static func fish(_ commands: [CommandEntry]) -> String {
    var text = "# Completions of lockstep for fish: lockstep completions fish\ncomplete -c lockstep -f\n"
    for word in firstWords(commands) {
      let summary = commands.first { $0.name == word }?.summary ?? "\(word) …"
      text += "complete -c lockstep -n __fish_use_subcommand -a \(word) -d \(quoted(summary))\n"
    }
    for command in commands {
      let words = command.name.split(separator: " ").map(String.init)
      if words.count == 2 {
        let others = secondWords(words[0], commands).joined(separator: " ")
        let condition = "__fish_seen_subcommand_from \(words[0]); and not __fish_seen_subcommand_from \(others)"
        text += "complete -c lockstep -n \(quoted(condition)) -a \(words[1]) -d \(quoted(command.summary))\n"
      }
      let condition = words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
      for option in command.options {
        let name = option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-s \(option.name.dropFirst(1))"
        let values = choices(option.placeholder)
        let value =
          option.placeholder == nil
          ? ""
          : isFile(option.placeholder)
            ? " -r -F" : values.isEmpty ? " -x" : " -x -a \(quoted(values.joined(separator: " ")))"
        let help = String(option.help.prefix { $0 != "." && $0 != ";" })
        text += "complete -c lockstep -n \(quoted(condition)) \(name)\(value) -d \(quoted(help))\n"
      }
      for operand in command.operands where !choices(operand).isEmpty {
        text += "complete -c lockstep -n \(quoted(condition)) -a \(quoted(choices(operand).joined(separator: " ")))\n"
      }
    }
    return text
  }

  /// In single quotes, which every shell takes as they are.
  private static func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}
