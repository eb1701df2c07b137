/// The files of this folder, embedded in the program.
package enum Templates {
  /// The end of each file of generated Swift types.
  package static let jsonValue = PackageResources.JSONValue_swift
  /// A part of a file of generated Swift types with a `MemberChange`.
  package static let memberChange = PackageResources.MemberChange_swift
  /// A part of a file of generated Swift types with a time.
  package static let serverTime = PackageResources.ServerTime_swift

  /// The files of a new project. The folder `project` is itself a package that builds, with the name `state-server`.
  package static let project: [(path: String, text: [UInt8])] = [
    (".dockerignore", PackageResources.dockerignore),
    (".gitignore", PackageResources.gitignore),
    ("Dockerfile", PackageResources.Dockerfile),
    ("Package.swift", PackageResources.Package_swift),
    ("README.md", PackageResources.README_md),
    ("Sources/Server/NewNote.swift", PackageResources.NewNote_swift),
    ("Sources/Server/Notes.swift", PackageResources.Notes_swift),
    ("Sources/Server/main.swift", PackageResources.main_swift),
    ("Tests/ServerTests/NewNoteTests.swift", PackageResources.NewNoteTests_swift),
    ("Tests/ServerTests/NotesTests.swift", PackageResources.NotesTests_swift),
    ("state-server.service", PackageResources.state_server_service),
  ]
}
