import LockstepComposition
import LockstepMaintenance

/// `lockstep user import`: adds users of another system with their password hashes.
enum UserImportCommand {
  struct Settings: CommandSettings {
    var configuration = Configuration()
    var file = ""
    var hashing: String?
    var isDryRun = false
  }

  static func entry(_ program: Program) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user import",
        summary: "Add the users of another system, with their password hashes.",
        about: """
          Add users to a store. They log in with their old passwords, and the server stores a new hash (Argon2id) at
          the first login. The file (- for standard input) has a line of JSON for each user:

            { "email": "ada@example.com", "passwordHash": "$2b$12$…", "emailVerified": true,
              "createdAt": "2021-03-05T08:00:00Z", "disabled": false }

          Only email is required. A user without a hash cannot log in until you set a password with `lockstep user
          reset-password`, or the user resets it by mail. The hashes may be of bcrypt, PBKDF2, scrypt, Firebase or
          Argon2id: docs/identity.md shows the forms. The file may also be the output of `firebase auth:export
          users.json`.
          """,
        notes: """
          A user whose address is in the store already is left out and reported, so an interrupted import can be
          repeated. If a server uses the store's file, the server adds the users. If the file is not valid, the
          command prints up to 100 faults, each with its place, imports nothing, and exits with code 65.
          """,
        operands: [CommandOption("<file>", \.file, .text("<file>"))],
        options: [
          Option.data.within(\Settings.configuration), Option.store.within(\Settings.configuration),
          .file(
            "--firebase-hashing",
            \.hashing,
            "A file with the password hash parameters, copied from Firebase's console. Needed for its exports."
          ),
          .flag("--dry-run", \.isDryRun, "Check the file, and import nothing."),
        ],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let hashing = try settings.hashing.map { path throws(CommandError) in try FirebaseHashing(path) }
      let file = try UserImportFile(settings.file, hashing)
      if file.withoutAddress > 0 {
        Terminal.error("\(Terminal.count(file.withoutAddress, "user")) without an address: left out\n")
      }
      if settings.isDryRun {
        return Terminal.print(
          "The file is valid. It has \(Terminal.count(file.users.count, "user")) with an address.\n"
        )
      }
      let channel = try program.channel(settings.configuration)
      var bar = ProgressBar("users")
      let taken = try UserImport.add(file.users, over: channel) { done in
        bar.show(done, of: file.users.count, as: Terminal.count(file.users.count, "user"))
      }
      bar.clear()
      for place in taken {
        Terminal.error(
          "\(file.places[place]): \(Terminal.harmless(file.users[place].address.text)) already belongs to a user; left out\n"
        )
      }
      return Terminal.print("\(Terminal.count(file.users.count - taken.count, "user")) imported.\n")
    }
  }
}
