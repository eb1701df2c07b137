import Glibc
import LockstepCollections
import LockstepHTTPServer
import LockstepMaintenance

extension LockstepServer {
  /// What a server of these modules answers `GET /openapi.json` with: its OpenAPI 3.1 description, as JSON.
  ///
  /// It's made from the very table of routes, which wants a store: an empty one is made in a folder of its own below `TMPDIR`,
  /// or `/tmp`, and is gone when this returns. Blocks for as long as that takes, some 100 ms.
  ///
  /// - Parameters:
  ///   - configuration: What it's configured to be, as far as its routes show it.
  ///   - modules: What the server keeps for users besides favorites, defaults and profiles.
  /// - Returns: The document, in UTF-8.
  /// - Throws: `InvalidModuleError` where a module can't be served, `StoreError` where there is no room for the store.
  public static func openAPI(_ configuration: Configuration = Configuration(), modules: [UserModule] = []) throws
    -> [UInt8]
  {
    let folder = try ScratchFolder()
    defer { folder.remove() }
    var configuration = configuration
    configuration.data = folder.store
    let environment = Environment(time: .system, writeLog: { _ in }, droppedLogLines: { 0 })
    let services = try Services.durable(configuration, modules: modules, time: environment.time)
    defer { services.shutDown() }
    let components = try Components(
      configuration,
      logger: .silent,
      environment: environment,
      services: services,
      loops: 1,
      serverCounters: { ServerCounters() }
    )
    defer { components.screens?.shutDown() }
    return components.openAPI.document().bytes
  }
}

/// A folder for one store that nobody needs for long.
private struct ScratchFolder {
  private let path: String

  var store: String { "\(path)/lockstep.db" }

  /// Makes it, for its owner only.
  init() throws(MaintenanceError) {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    let template = "\(parent.isEmpty ? "/tmp" : parent)/lockstep-XXXXXX"
    var bytes = Array(template.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw .cannotMake(path: template, reason: errno) }
    path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func remove() {
    PartialFile.removeCompanions(of: store)
    for suffix in ["", "-lock"] { unlink(store + suffix) }
    rmdir(path)
  }
}
