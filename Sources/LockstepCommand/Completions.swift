/// Scripts that complete the words of the command line in a shell.
///
/// Each script finds the first place whose pattern matches the words before the current word.
struct Completions {
  private typealias Word = (text: String, summary: String)

  private struct Place {
    /// The words before the current word, between spaces. A `*` stands for any text.
    let pattern: String
    var words: [Word] = []
    var takesFile = false
  }

  private var places: [Place] = []

  init(_ commands: [CommandEntry]) {
    let help = Word("--help", "Print the help")
    var firsts: [Word] = []
    for command in commands {
      places += command.options.filter { $0.placeholder != nil }.map { option in
        let choices = option.choices.map { Word($0, "") }
        return Place(pattern: " \(command.name) *\(option.name) ", words: choices, takesFile: option.takesFile)
      }
      let operands = command.operands.flatMap(\.choices).map { Word($0, "") }
      let options = command.options.map { Word($0.name, String($0.help.prefix { !".;:".contains($0) })) }
      places.append(Place(pattern: " \(command.name) *", words: operands + options + [help]))
      let first = String(command.name.prefix { $0 != " " })
      guard firsts.last?.text != first else { continue }
      let seconds = commands.filter { $0.name.hasPrefix("\(first) ") }
      firsts.append((first, seconds.isEmpty ? command.summary : "\(first) …"))
      let words = seconds.map { Word(String($0.name.dropFirst(first.count + 1)), $0.summary) }
      if !words.isEmpty { places.append(Place(pattern: " \(first) ", words: words + [help])) }
    }
    places.append(Place(pattern: "  ", words: firsts + [help, ("--version", "Print the version")]))
  }

  func script(for shell: CompletionsCommand.Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  private var bash: String {
    let cases = places.map { place in
      let words = place.takesFile ? "-f" : "-W \(quoted(place.words.map(\.text).joined(separator: " ")))"
      return "    \(unquotingStars(place.pattern))) COMPREPLY=($(compgen \(words) -- \"$word\")) ;;\n"
    }
    return """
      # Completions of lockstep for bash: lockstep completions bash
      _lockstep() {
        local IFS=$' \\t\\n' word=${COMP_WORDS[COMP_CWORD]}
        COMPREPLY=()
        case " ${COMP_WORDS[*]:1:COMP_CWORD-1} " in
      \(cases.joined())  esac
      }
      complete -F _lockstep lockstep

      """
  }

  private var zsh: String {
    let cases = places.map { place in
      let words = place.words.map { quoted($0.summary.isEmpty ? $0.text : "\($0.text):\($0.summary)") }
      let action = place.takesFile ? "_files" : "candidates=(\(words.joined(separator: " ")))"
      return "    \(unquotingStars(place.pattern))) \(action) ;;\n"
    }
    return """
      #compdef lockstep
      # Completions of lockstep for zsh: lockstep completions zsh
      _lockstep() {
        local -a candidates
        case " ${words[2,CURRENT-1]} " in
      \(cases.joined())  esac
        (($#candidates)) && _describe word candidates
      }
      _lockstep "$@"

      """
  }

  private var fish: String {
    let cases = places.map { place in
      let words = place.words.map { " \(quoted($0.text)) \(quoted($0.summary))" }.joined()
      let list = words.isEmpty ? "" : "printf '%s\\t%s\\n'\(words)"
      let action = place.takesFile ? "__fish_complete_path (commandline -ct)" : list
      return "    case \(quoted(place.pattern))\n      \(action)\n"
    }
    return """
      # Completions of lockstep for fish: lockstep completions fish
      function __lockstep_words
        set -l words (commandline -opc)
        set -e words[1]
        switch " $words "
      \(cases.joined())  end
      end
      complete -c lockstep -f -a '(__lockstep_words)'

      """
  }

  /// Quotes the pattern for bash and zsh, except its stars. A quoted star would match only itself.
  private func unquotingStars(_ pattern: String) -> String {
    pattern.split(separator: "*", omittingEmptySubsequences: false).map { quoted(String($0)) }.joined(separator: "*")
  }

  /// The text in single quotes. Shells expand nothing inside them.
  private func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}
