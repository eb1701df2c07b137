import Foundation
import LockstepClient

do {
  let options = try Options(CommandLine.arguments.dropFirst())
  if options.isHelp {
    print(Options.help)
    exit(0)
  }
  // The output is for people and for other programs: each line appears at once.
  let terminal = Terminal(try options.client()) { FileHandle.standardOutput.write(Data("\($0)\n".utf8)) }
  terminal.start()
  for await line in Lines.ofStandardInput where await !terminal.perform(line) { break }
  await terminal.stop()
} catch {
  FileHandle.standardError.write(Data("FavoritesTerminal: \(error)\n".utf8))
  exit(64)
}
