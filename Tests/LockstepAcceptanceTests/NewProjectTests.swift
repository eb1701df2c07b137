import Foundation
import Glibc
import LockstepTestSupport
import Testing

/// scripts/outside builds and runs such a project.
@Suite("The command writes a new project", .timeLimit(.minutes(10)))
struct NewProjectTests {
  private static let files = [
    ".dockerignore", ".gitignore", "Dockerfile", "Package.swift", "README.md", "Sources/Server/NewNote.swift",
    "Sources/Server/Notes.swift",
    "Sources/Server/main.swift", "Tests/ServerTests/NewNoteTests.swift", "Tests/ServerTests/NotesTests.swift",
    "my-notes.service",
  ]

  /// Runs `lockstep new` in a folder.
  private static func new(_ arguments: [String], in folder: TemporaryDirectory) throws -> LockstepProcess {
    try LockstepProcess(["new"] + arguments, in: folder, name: "new", workingFolder: folder.path)
  }

  private static func text(_ path: String, in folder: TemporaryDirectory) throws -> String {
    String(decoding: try folder.contents(of: path), as: UTF8.self)
  }

  @Test("The project has the name in all its files, and finds the package that the command was built in")
  func writes() async throws {
    let folder = try TemporaryDirectory()
    let process = try Self.new(["my-notes"], in: folder)
    #expect(await process.ended() == .exit(0), "\(process.errors)")
    #expect(process.output.contains("  cd my-notes\n") && process.output.contains("  swift run my-notes serve\n"))
    let root = folder.file("my-notes")
    let found = try FileManager.default.subpathsOfDirectory(atPath: root).sorted()
    #expect(found.filter { $0.contains(".") || $0 == "Dockerfile" } == Self.files)
    for file in Self.files {
      let text = try Self.text("my-notes/\(file)", in: folder)
      #expect(!text.contains("state-server") && text.hasSuffix("\n"), "\(file)")
    }
    let manifest = try Self.text("my-notes/Package.swift", in: folder)
    #expect(manifest.contains(#".executable(name: "my-notes", targets: ["Server"])"#))
    #expect(try Self.text("my-notes/Dockerfile", in: folder).contains("ENV LOCKSTEP_PACKAGE=/lockstep\n"))
    let path = try #require(manifest.split(separator: #"["LOCKSTEP_PACKAGE"] ?? ""#).last?.prefix { $0 != "\"" })
    #expect(FileManager.default.fileExists(atPath: "\(path)/Sources/LockstepCommand/Command.swift"))
  }

  @Test(
    "The project finds Lockstep in a folder or in a repository",
    arguments: [
      ("copy", #"?? "../copy")"#, #"package: "lockstep""#, true),
      ("{folder}/copy", #"?? "{folder}/copy")"#, #"package: "lockstep""#, true),
      (
        "https://git.example/me/My-Lockstep.git", #".package(url: "https://git.example/me/My-Lockstep.git", from: ""#,
        #"package: "my-lockstep""#, false
      ),
      (
        "git@git.example:lockstep", #".package(url: "git@git.example:lockstep", from: ""#, #"package: "lockstep""#,
        false
      ),
    ]
  )
  func sources(source: String, dependency: String, product: String, needsContext: Bool) async throws {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: folder.file("copy/Sources/LockstepCommand"),
      withIntermediateDirectories: true
    )
    try folder.write([], to: "copy/Package.swift")
    let source = source.replacing("{folder}", with: folder.path)
    let process = try Self.new(["my-notes", "--lockstep", source], in: folder)
    #expect(await process.ended() == .exit(0), "\(process.errors)")
    let manifest = try Self.text("my-notes/Package.swift", in: folder)
    #expect(manifest.contains(dependency.replacing("{folder}", with: folder.path)))
    #expect(manifest.split(separator: product).count == 4)
    let dockerfile = try Self.text("my-notes/Dockerfile", in: folder)
    #expect(dockerfile.contains("COPY --from=lockstep") == needsContext)
    #expect(dockerfile.contains("LOCKSTEP_PACKAGE") == needsContext)
  }

  @Test(
    "A name or a place that is not allowed is an error, and nothing is written",
    arguments: [
      (["Notes"], 64, "<name> cannot be “Notes”"), (["../notes"], 64, "<name> cannot be"),
      (["a--b"], 64, "<name> cannot be"), (["a-"], 64, "<name> cannot be"), (["1a"], 64, "<name> cannot be"),
      (["lockstep"], 64, "not begin with lockstep"), ([String(repeating: "a", count: 65)], 64, "at most 64 characters"),
      ([], 64, "<name> is missing"), (["notes", "--lockstep", "nowhere"], 66, "nowhere is not the folder of"),
      (["notes", "--lockstep", "https://a.example/x y"], 64, "--lockstep cannot be"),
      (["notes", "--lockstep", #"https://a.example/"x"#], 64, "--lockstep cannot be"),
      (["full"], 73, "full exists already and is not empty"), (["file"], 73, "file exists already and is not a folder"),
      (["link"], 73, "link exists already and is not a folder"),
    ] as [([String], Int32, String)]
  )
  func refuses(arguments: [String], code: Int32, text: String) async throws {
    let folder = try TemporaryDirectory()
    for name in ["full", "empty"] { #expect(mkdir(folder.file(name), 0o700) == 0) }
    try folder.write(Array("mine".utf8), to: "full/README.md")
    try folder.write([], to: "file")
    #expect(symlink(folder.file("empty"), folder.file("link")) == 0)
    let process = try Self.new(arguments, in: folder)
    #expect(await process.ended() == .exit(code))
    #expect(process.errors.hasPrefix("lockstep new: ") && process.errors.contains(text), "\(process.errors)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(names == ["empty", "file", "full", "full/README.md", "link", "new.err", "new.out"])
    #expect(try Self.text("full/README.md", in: folder) == "mine")
  }

  @Test("An empty folder may exist already")
  func emptyFolder() async throws {
    let folder = try TemporaryDirectory()
    #expect(mkdir(folder.file("my-notes"), 0o700) == 0)
    #expect(try await Self.new(["my-notes"], in: folder).ended() == .exit(0))
    #expect(try !folder.contents(of: "my-notes/Package.swift").isEmpty)
  }
}
