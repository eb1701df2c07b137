import Glibc

StandardStreams.takePlaces()
exit(Command.run(Array(CommandLine.arguments.dropFirst())).rawValue)
