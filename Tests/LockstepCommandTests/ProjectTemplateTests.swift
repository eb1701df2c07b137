import Foundation
import LockstepTemplates
import Testing

@Suite("The template of a new project", .timeLimit(.minutes(10)))
struct ProjectTemplateTests {
  @Test("A new project has every file of the folder, and its bytes")
  func allListed() throws {
    let folder = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("templates/project").path
    // A build in the folder leaves hidden files.
    let paths = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
      .filter { path in
        let isFolder = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(path)")) != nil
        return !isFolder && !path.hasPrefix(".")
      }
    // The names of these files have no dot in the folder, because SwiftPM embeds no hidden files.
    let templates = Templates.project.map { path, text in (path.first == "." ? String(path.dropFirst()) : path, text) }
    #expect(paths.sorted() == templates.map(\.0).sorted())
    for (path, text) in templates {
      #expect(FileManager.default.contents(atPath: "\(folder)/\(path)") == Data(text), "\(path)")
    }
  }
}
